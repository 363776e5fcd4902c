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
  /** Calls of tools in one turn; further ones are refused. */
  callsPerTurn: 64,
  /** Episodes that the dashboard puts in the order of their rewards: the newest so many. */
  sortedEpisodes: 20_000,
  /** Runs that the dashboard's list puts in another order than the newest first. */
  sortedRuns: 5_000,
} as const;
