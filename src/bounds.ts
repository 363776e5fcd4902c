/**
 * Bounds on what comes from outside: text that a policy writes, answers of tools and MCP servers, requests of agents over HTTP,
 * downloaded model folders. Each is checked where the text enters, and what exceeds it costs that one trajectory, request or
 * folder (`docs/explain/trust.md`).
 */
export const bounds = {
  /** Levels of arrays and objects in JSON that is read: call arguments, tool results, requests. */
  jsonDepth: 128,
  /** Characters of a failure's text that are kept. */
  failureText: 4_000,
  /** Calls of tools in one turn; further ones are refused. The default of `limits.callsPerTurn`. */
  callsPerTurn: 64,
  /** Characters of what a policy wrote that are repeated when it is told what was wrong. */
  quotedChars: 200,
  /** Characters of all observations of one turn, unless `limits.observationChars` allows one observation more. */
  turnObservationChars: 65_536,
  /** Bytes of one stored trajectory before it is compressed. */
  trajectoryBytes: 256 * 1024 * 1024,
  /** Elementary comparisons of one text with another in a scorer, about a second. */
  comparisons: 100_000_000,
  /** Characters of all files that one answer edits, edits applied. */
  editedFiles: 1_000_000,
  /** Characters of an arithmetic expression. */
  arithmetic: 1_000,
  /** Characters of a mathematical answer that is read as more than text. */
  mathAnswer: 2_000,

  // servers, MCP and model folders, by name
  /** Milliseconds that a client may take to send the headers of a request. */
  headerMs: 15_000,
  /** Characters of what the Hugging Face hub says about a model. */
  hubAnswerChars: 8 * 2 ** 20,
  /** Bytes of one answer of an MCP server; the policy is told that it was larger. */
  mcpAnswerBytes: 10 * 2 ** 20,
  /** Pages of an MCP server's list of tools. */
  mcpToolPages: 100,
  /** Tools of one MCP server. */
  mcpTools: 1_000,
  /** Characters of an error's text that are looked through for secrets; the rest is cut. */
  redactedChars: 256 * 1024,
  /** Bytes of a request's body, of every server. */
  requestBytes: 8 * 2 ** 20,
  /** Milliseconds that a client may take to send a whole request. */
  requestMs: 60_000,
} as const;
