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
  /** Different failures that are told apart in one step; further ones are counted together. */
  failureKinds: 32,
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
  /** Characters of one added token of a tokenizer. */
  addedTokenChars: 1_024,
  /** Added tokens of a tokenizer. */
  addedTokens: 200_000,
  /** Bytes of one answer of a chat-completions endpoint. */
  chatAnswerBytes: 32 * 2 ** 20,
  /** Characters of a chat template. */
  chatTemplateChars: 256 * 1024,
  /** Bytes of an adapter that a Tinker server hands out, packed and unpacked: it is held in memory. */
  adapterBytes: 2 ** 31,
  /** Milliseconds for the download of an adapter. */
  adapterMs: 30 * 60_000,
  /** Milliseconds that a client may take to send the headers of a request. */
  headerMs: 15_000,
  /** Characters of what the Hugging Face hub says about a model. */
  hubAnswerChars: 8 * 2 ** 20,
  /** Bytes of one answer of an MCP server; the policy is told that it was larger. */
  mcpAnswerBytes: 10 * 2 ** 20,
  /** Requests for a sample or a user's answer that an MCP server may make during one call; further ones are refused. */
  mcpAsks: 32,
  /** Pages of an MCP server's list of tools, resources or prompts. */
  mcpToolPages: 100,
  /** Tools, resources or prompts of one MCP server. */
  mcpTools: 1_000,
  /** Bytes of a JSON file or a template in a model folder. */
  modelFileBytes: 128 * 2 ** 20,
  /** Layers of a model that is read from a folder, or described. */
  modelLayers: 1_024,
  /** Numbers in a model's rotary tables: context length times head width. */
  modelRopeNumbers: 2 ** 28,
  /** Shards of a checkpoint. */
  modelShards: 4_096,
  /** Any width of a model. */
  modelWidth: 2 ** 20,
  /** Characters of an error's text that are looked through for secrets; the rest is cut. */
  redactedChars: 256 * 1024,
  /** Characters of one answer of an OpenEnv server. */
  openEnvAnswerChars: 16 * 2 ** 20,
  /** Bytes of one answer of an agent that runs elsewhere. */
  agentAnswerBytes: 8 * 2 ** 20,
  /** Bytes of a request's body, of every server. */
  requestBytes: 8 * 2 ** 20,
  /** Milliseconds that a client may take to send a whole request. */
  requestMs: 60_000,
  /** Bytes of the header of a safetensors file, as in the reference implementation. */
  safetensorsHeaderBytes: 100_000_000,
  /** Characters of any one text while a chat template runs. */
  templateChars: 4 * 2 ** 20,
  /** Numbers in a `range` of a chat template. */
  templateRange: 100_000,
  /** Characters of white space in a row in a chat template, whose square its parser takes. */
  templateSpaces: 1_000,
  /** Expressions of a chat template that are evaluated for one prompt; a turn of a loop counts as four. */
  templateSteps: 2_000_000,
  /** How many times as long a tokenizer may make a text, a thousand characters aside. */
  tokenizerGrowth: 16,
  /** Milliseconds for the matches of one expression of a tokenizer in one text. */
  tokenizerMs: 2_000,
  /** Characters of an expression of a tokenizer. */
  tokenizerPatternChars: 10_000,
  /** Steps of a tokenizer's normalizer, pre-tokenizer or decoder. */
  tokenizerSteps: 64,
  /** Bytes of one answer of a Tinker server, adapters aside. */
  tinkerAnswerBytes: 256 * 2 ** 20,
  /** Tokens of a vocabulary. */
  vocabulary: 2 ** 22,

  // AGENTS.md and skills
  /** Bytes of all AGENTS.md files that are read for one path. */
  agentsFileBytes: 64 * 1024,
  /** Bytes of one file of a skill. */
  skillFileBytes: 1024 * 1024,
  /** Files of one skill. */
  skillFiles: 1_000,

  // dashboard
  /** Episodes that the dashboard puts in the order of their rewards: the newest so many. */
  sortedEpisodes: 20_000,
  /** Runs that the dashboard's list puts in another order than the newest first. */
  sortedRuns: 5_000,
} as const;
