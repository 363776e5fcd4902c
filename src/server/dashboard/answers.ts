import type { Message, ParentRun, RunEndReason, Score, StopReason, ToolSpec } from "../../schema/index.ts";
import type { StoredEvent, StoredFailure, TrajectorySummary } from "../../store/index.ts";

// What the dashboard's server says, as JSON. A number that JSON cannot hold (NaN, infinite) is null.

export interface RunsAnswer {
  readonly runs: readonly RunSummary[];
  /** Runs that fit the search, on all pages together. */
  readonly total: number;
  /** Sorted by findings: runs that the doctor has not looked at yet, which are the last. Ask again. */
  readonly unexamined?: number;
}

/** `silent`: nothing was written for a while by a process that is there. `interrupted`: its process is gone and did not end it. */
export type RunStatus = "running" | "silent" | "interrupted" | RunEndReason;

export interface RunSummary {
  /** The run's folder, as seen from the one that is shown. */
  readonly id: string;
  readonly status: RunStatus;
  /** Milliseconds since 1970. */
  readonly started?: number;
  readonly changed: number;
  readonly env?: string;
  readonly algorithm?: string;
  /** How many are done. */
  readonly steps: number;
  readonly plannedSteps?: number;
  /** Steps of the warm start, which come before all others. */
  readonly warmStart?: { readonly name: string; readonly steps: number };
  /** Means over the last ten steps of learning. */
  readonly reward?: number | null;
  readonly success?: number | null;
  /** The first and the last evaluation on held-out tasks; absent where there was none. */
  readonly heldOut?: { readonly first: Evaluation; readonly last: Evaluation };
  /** The mean reward over the run, in few points. */
  readonly curve: readonly (number | null)[];
  /** The run whose checkpoint it started from. */
  readonly parent?: ParentRun & { readonly uid?: string; readonly weights?: string };
  /** Why the run cannot be read. */
  readonly problem?: string;
}

/** A mean with its 95 % interval; bounds are null where they are not known. */
export interface ShownInterval {
  readonly mean: number | null;
  readonly low: number | null;
  readonly high: number | null;
}

/** Held-out tasks, after a step. */
export interface Evaluation {
  readonly step: number;
  readonly success: ShownInterval;
  readonly reward?: ShownInterval;
  readonly tasks?: number;
  readonly attempts?: number;
  readonly split?: string;
}

export interface EvaluationsAnswer {
  readonly runs: readonly { readonly run: string; readonly evaluations: readonly Evaluation[] }[];
}

/** How far runs are: what charts that show several of them share as their axis. */
export interface SpansAnswer {
  readonly spans: readonly RunSpan[];
}

export interface RunSpan {
  readonly run: string;
  readonly steps: number;
  readonly warmStart?: { readonly name: string; readonly steps: number };
}

export const runSorts = [
  "changed",
  "name",
  "status",
  "env",
  "heldOut",
  "reward",
  "steps",
  "duration",
  "findings",
] as const;
export type RunSort = (typeof runSorts)[number];

export interface FindingCountsAnswer {
  readonly runs: readonly FindingCounts[];
}

export interface FindingCounts {
  readonly run: string;
  readonly errors: number;
  readonly warnings: number;
}

export interface RunAnswer {
  readonly summary: RunSummary;
  readonly metricNames: readonly string[];
  readonly config: unknown;
  /** Steps with a checkpoint. */
  readonly checkpoints: readonly number[];
  /** Trajectories of training. */
  readonly trajectories: number;
  /** Trajectories of evaluations. */
  readonly heldOut: number;
  /** Of a run that failed: the error. */
  readonly error?: string;
  /** The run's folder; absent where it has none. */
  readonly directory?: string;
}

export interface SeriesAnswer {
  readonly series: readonly Series[];
}

/** Columns of points; `counts` says how many steps each joins. */
export interface Series {
  readonly run: string;
  readonly name: string;
  readonly steps: readonly number[];
  readonly values: readonly (number | null)[];
  readonly min: readonly (number | null)[];
  readonly max: readonly (number | null)[];
  readonly counts: readonly number[];
}

export interface EventsAnswer {
  readonly events: readonly StoredEvent[];
  /** Where to go on; absent when these were the last. */
  readonly next?: number;
}

export interface FindingsAnswer {
  readonly findings: readonly ShownFinding[];
}

export interface ShownFinding {
  readonly code: string;
  readonly severity: "error" | "warning" | "info";
  readonly message: string;
  /** The last step it was seen at. */
  readonly step: number;
  /** The first step of those at which it was seen without a break. */
  readonly since: number;
  readonly remedy?: string;
}

export interface FailuresAnswer {
  /** The most frequent first. */
  readonly failures: readonly ShownFailure[];
  /** Where every attempt failed: nothing could be learned or measured there. */
  readonly lost: readonly LostStep[];
}

export interface ShownFailure extends StoredFailure {
  /** The key of an episode that failed so; absent where none was stored. */
  readonly example?: number;
}

export interface LostStep {
  readonly during: StoredFailure["during"];
  readonly step: number;
  readonly attempts: number;
}

export interface TrajectoriesAnswer {
  readonly trajectories: readonly ShownSummary[];
  readonly next?: number;
}

export interface ShownSummary extends Omit<TrajectorySummary, "reward"> {
  readonly reward: number | null;
}

/** The beginning of a text, and how long all of it is. */
export interface LongText {
  readonly text: string;
  readonly length: number;
}

export interface TrajectoryAnswer {
  readonly summary: ShownSummary;
  readonly task: { readonly id: string; readonly seed: number; readonly data: LongText };
  readonly score: Score;
  readonly weights: string;
  readonly temperature: number;
  readonly failure?: LongText;
  /** What it was told. */
  readonly hint?: { readonly kind: string; readonly text: LongText };
  readonly turns: readonly ShownTurn[];
  readonly tokens: TokenColumns;
}

export interface ShownTurn {
  readonly start: number;
  readonly end: number;
  readonly text: LongText;
  readonly reward: number | null;
  readonly observation: LongText;
  readonly calls: readonly ShownCall[];
  readonly stateKey?: string;
  readonly info?: Readonly<Record<string, number | string | boolean>>;
}

export interface ShownCall {
  readonly name: string;
  readonly arguments: LongText;
  readonly outcome: string;
  readonly observation: LongText;
}

/** Tokens `from` to `from + ids.length - 1` of `total`. */
export interface TokenColumns {
  readonly from: number;
  readonly total: number;
  readonly ids: readonly number[];
  /** A character that several tokens make stands at the last of them. Absent where the run has no tokenizer. */
  readonly texts?: readonly string[];
  readonly mask: readonly number[];
  readonly logprobs: readonly (number | null)[];
  readonly versions: readonly number[];
  /** What the loss gave each; absent where it was not learned from. */
  readonly advantages?: readonly (number | null)[];
}

export interface GroupAnswer {
  readonly step: number;
  readonly split: string;
  readonly meanReward: number | null;
  readonly members: readonly ShownSummary[];
}

/** What a checkpoint makes of a trajectory's tokens, index by index; 0 where nothing was sampled. */
export interface LookAnswer {
  readonly checkpoint: number;
  readonly logprobs: readonly (number | null)[];
  readonly entropies: readonly (number | null)[];
}

export interface EnvironmentsAnswer {
  readonly environments: readonly { readonly name: string; readonly description: string }[];
  /** The name of the environment of the run that was asked about. */
  readonly runEnv?: string;
  /** The same, where it can be loaded from the file that the run was made from. */
  readonly own?: { readonly name: string; readonly description: string };
  /** Why the run that was asked about cannot be played in its own environment. */
  readonly problem?: string;
}

export interface PlayAnswer {
  readonly session: string;
  readonly env: string;
  readonly taskId: string;
  readonly tools: readonly ToolSpec[];
  /** Who is to speak; absent at the end. */
  readonly role?: string;
  /** All that was said so far. */
  readonly messages: readonly Message[];
  /** The tokens the policy would be given, as text: with a checkpoint by its own tokenizer, else by bytes. */
  readonly prompt: string;
  readonly promptTokens: number;
  /** What may be said now, where the environment lists it. */
  readonly possible: readonly string[];
  readonly hasExpert: boolean;
  readonly reward: number;
  readonly end?: { readonly stop: StopReason; readonly failure?: string; readonly score: Score };
  readonly checkpoint?: number;
}

/** What a checkpoint would say, token by token, and what else it might have said at each. */
export interface SuggestionAnswer {
  readonly text: string;
  readonly stop: string;
  readonly tokens: readonly SuggestedToken[];
}

export interface SuggestedToken {
  readonly id: number;
  readonly text: string;
  readonly logprob: number | null;
  /** Chosen by a person, not sampled. */
  readonly isGiven: boolean;
  readonly choices: readonly { readonly id: number; readonly text: string; readonly logprob: number | null }[];
}

export interface LiveChange {
  readonly run: string;
  readonly step: number;
  readonly changed: number;
}

export interface ErrorAnswer {
  readonly error: { readonly code: string; readonly message: string };
}
