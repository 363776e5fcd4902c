import type { KnownOptions } from "../known-options.ts";
import type { Limits } from "../rollout/limits.ts";
import type { StopReason } from "../schema/stop-reason.ts";
import type { TrainingProgress } from "../schema/training-progress.ts";
import type { Trajectory } from "../schema/trajectory.ts";
import type { Sandbox } from "../tool/sandbox/sandbox.ts";
import type { Env } from "./env.ts";

export interface EpisodeOptions {
  readonly signal: AbortSignal;
  readonly limits?: Limits;
  readonly format?: Env["format"];
  /** Where `box()` of a tool's context opens; `bubblewrapSandbox()` by default. */
  readonly sandbox?: Sandbox;
  readonly training?: TrainingProgress;
  /** Tokens that a role has sampled so far; none where they are not counted. */
  readonly sampledTokens?: (role: string) => number;
  /** What a role read and sampled, for rewards that look at tokens. */
  readonly tokensOf?: (role: string, stop: StopReason) => readonly Trajectory[];
}

export const knownEpisodeOptions: KnownOptions<EpisodeOptions> = {
  sampledTokens: true,
  tokensOf: true,
  training: true,
  signal: true,
  limits: true,
  format: true,
  sandbox: true,
};
