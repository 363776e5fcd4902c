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
} as const;
