import type { Engine } from "../engine/engine.ts";
import type { KnownOptions } from "../known-options.ts";
import type { CallFormat } from "../policy/call-format.ts";
import type { Renderer } from "../policy/renderer.ts";
import type { Tokenizer } from "../policy/tokenizer.ts";
import type { StopReason } from "../schema/stop-reason.ts";
import type { Task } from "../schema/task.ts";
import type { TrainingProgress } from "../schema/training-progress.ts";
import type { Trajectory } from "../schema/trajectory.ts";
import type { Sandbox } from "../tool/sandbox/sandbox.ts";
import type { Context } from "./context.ts";
import type { Limits } from "./limits.ts";

/** Who speaks: an engine, and how messages become its tokens. */
export interface Policy {
  readonly engine: Pick<Engine, "sample" | "release" | "info">;
  readonly renderer: Renderer;
  /** Needed where the policy is asked over a protocol that tells tokens as text. */
  readonly tokenizer?: Tokenizer;
  /** Which weights each role speaks with; the policy's by default. */
  readonly weights?: Readonly<Record<string, string>>;
}

/** What a rollout needs of a policy when somebody else speaks. */
export type RenderContext = Pick<Policy, "renderer" | "weights" | "tokenizer"> & {
  readonly engine: { readonly info: { readonly contextLength: number } };
};

export interface RolloutOptions {
  /** Unique in a run: names the rollout's cache in the engine and its trajectories. */
  id: string;
  /** Sampling seed. The environment's randomness comes from the task's seed, which a group shares. */
  seed: number;
  signal?: AbortSignal;
  /** 1 by default; 0 is greedy. */
  temperature?: number;
  topP?: number;
  topK?: number;
  /** Override the environment's. */
  limits?: Partial<Limits>;
  format?: CallFormat;
  /** Where tools open the episode's box; `bubblewrapSandbox()` by default. */
  sandbox?: Sandbox;
  /** What of the past the policy still sees; everything by default. */
  context?: Context;
  /** With this probability a turn begins with a call of a random tool. Those tokens were not sampled, so their mask is 0. */
  epsilonTool?: number;
  /** Told to whatever scores the attempt. */
  training?: TrainingProgress;
}

export const knownRolloutOptions: KnownOptions<RolloutOptions> = {
  training: true,
  id: true,
  seed: true,
  signal: true,
  temperature: true,
  topP: true,
  topK: true,
  limits: true,
  format: true,
  sandbox: true,
  context: true,
  epsilonTool: true,
};

/** When a turn was taken, in milliseconds since the rollout began: asked for, said, and answered by the environment. */
export interface TurnTiming {
  readonly role: string;
  readonly startMs: number;
  readonly saidMs: number;
  readonly endMs: number;
}

/**
 * An attempt that was played and is not scored yet. Scoring is a stage of its own: it may be slow, may fail, and overlaps with the
 * sampling of other attempts. What the attempt opened stays open until it is scored, so every played rollout must be.
 */
export interface PlayedRollout<Data = unknown> {
  readonly id: string;
  readonly task: Task<Data>;
  /** How playing ended. An infrastructure stop is not scored, only closed. */
  readonly stop: StopReason;
  /** Scores it and closes what it opened, once. Never throws: a scorer that does is the rollout's stop reason. */
  score(): Promise<Rollout<Data>>;
}

/** One attempt at one task, scored. */
export interface Rollout<Data = unknown> {
  readonly id: string;
  readonly task: Task<Data>;
  /** One for each role that spoke; more where the context was cut or rewritten. */
  readonly trajectories: readonly Trajectory[];
  readonly stop: StopReason;
  /** What went wrong, of an infrastructure stop. */
  readonly failure?: string;
  readonly timing: { readonly sampleMs: number; readonly totalMs: number; readonly turns?: readonly TurnTiming[] };
}
