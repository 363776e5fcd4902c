import type { KnownOptions } from "../known-options.ts";
/** What an episode may use. */
export interface Limits {
  /** Turns of the policy in an episode. */
  readonly turns: number;
  /** Tokens the policy may sample in an episode. */
  readonly tokens: number;
  /** Tokens the policy may sample in a turn. */
  readonly turnTokens: number;
  readonly toolMs: number;
  /** For `start`, `act` and `score`, each. */
  readonly envMs: number;
  readonly episodeMs: number;
  /** Longer observations are cut, and say so. */
  readonly observationChars: number;
  /** Calls of tools in a turn; the policy is told that further ones were not made. */
  readonly callsPerTurn: number;
}

export const knownLimits: KnownOptions<Limits> = {
  turns: true,
  tokens: true,
  turnTokens: true,
  toolMs: true,
  envMs: true,
  episodeMs: true,
  observationChars: true,
  callsPerTurn: true,
};
