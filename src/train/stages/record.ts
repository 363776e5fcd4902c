import { defined } from "../../defined.ts";
import type { FailureTally } from "../../schema/failure.ts";
import { metric } from "../../schema/metric-names.ts";
import type { TrajectoryGroup } from "../../schema/trajectory-group.ts";
import type { LearnRow } from "../learn-row.ts";
import type { RunRecorder } from "../run-recorder.ts";
import type { Metrics, TrainContext } from "./stage-context.ts";

/** What a run has to remember from step to step, besides weights, guide and replay. */
export interface RunState {
  /** Tokens sampled so far. */
  readonly tokens: number;
  /** Training success of the last steps, for early stopping. */
  readonly successes: readonly number[];
  /** Coefficient of the penalty in the reward, where the algorithm has one. */
  readonly klCoefficient?: number;
}

export interface RecordInput {
  readonly step: number;
  readonly metrics: Metrics;
  /** All groups that were rolled out. */
  readonly groups: readonly TrajectoryGroup[];
  /** Groups that the guide added. They are stored, and not replayed. */
  readonly extra?: readonly TrajectoryGroup[];
  /** The rows of the update; those of replayed groups are not this step's. */
  readonly rows: readonly LearnRow[];
  readonly state: RunState;
  /** Attempts of the step that failed. */
  readonly failures?: FailureTally;
}

interface RecordContext extends Pick<TrainContext, "guide" | "replay"> {
  readonly recorder: RunRecorder;
  /** Steps that early stopping looks back at. */
  readonly successWindow?: number;
  /** Where groups are rolled out ahead. */
  readonly ahead?: AheadRecord;
}

/** What is recorded of groups that were rolled out ahead. */
export interface AheadRecord {
  /** Nobody asks the guide for anything while the work is done. */
  exclusive<Value>(work: () => Promise<Value>): Promise<Value>;
  /** What is under way. */
  state(): unknown;
  /** Buffered groups that the step took, by a rollout of each. */
  taken(): readonly string[];
}

const remembered = 100;

/** Stores a step as a whole: metrics, groups with their advantages, and what must survive a restart. Returns the next state. */
export async function record(context: RecordContext, input: RecordInput): Promise<RunState> {
  const { ahead } = context;
  return ahead === undefined ? write(context, input) : ahead.exclusive(() => write(context, input));
}

async function write(context: RecordContext, input: RecordInput): Promise<RunState> {
  const { step, metrics, groups, extra = [], rows } = input;
  const { guide, replay, recorder, ahead, successWindow = 0 } = context;
  const window = Math.max(remembered, successWindow);
  const success = metrics[metric.success];
  const state: RunState = {
    ...input.state,
    tokens: input.state.tokens + (metrics[metric.sampledTokens] ?? 0),
    successes: success === undefined ? input.state.successes : [...input.state.successes, success].slice(-window),
  };
  replay?.observe(groups);
  const advantages = new Map(
    rows.flatMap((row) => (row.mask_T.includes(1) ? [[row.id, asSampled(row)] as const] : [])),
  );
  const saved = {
    guide: guide.state(),
    replay: replay?.state() ?? null,
    ...defined({ ...state, async: ahead?.state() }),
  };
  const { failures } = input;
  const all = [...groups, ...extra];
  const unbuffer = ahead?.taken();
  await recorder.record(step, { metrics, groups: all, advantages, state: saved, ...defined({ failures, unbuffer }) });
  return state;
}

/** Advantages at the tokens of the stored trajectory, of which the row may be another view. */
function asSampled({ advantages_T, viewOffset = 0 }: LearnRow): Float32Array {
  if (viewOffset === 0) return advantages_T;
  const moved_T = new Float32Array(advantages_T.length + viewOffset);
  for (const [t, advantage] of advantages_T.entries()) if (advantage !== 0) moved_T[t + viewOffset] = advantage;
  return moved_T;
}
