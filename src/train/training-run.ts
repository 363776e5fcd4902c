import { z } from "zod";
import { defined } from "../defined.ts";
import { type Engine, policyWeights } from "../engine/engine.ts";
import { LudusError } from "../errors.ts";
import { type Guide, type GuideEngine, guideWeights } from "../guide/guide.ts";
import { inOrder } from "../guide/in-order.ts";
import { createLimiter } from "../limiter.ts";
import { DoctorStop } from "../monitor/doctor/index.ts";
import { defaultConcurrency } from "../rollout/run-group.ts";
import { FailureTally } from "../schema/failure.ts";
import type { ParentRun, RunEndReason } from "../schema/run-event.ts";
import type { TrajectoryGroup } from "../schema/trajectory-group.ts";
import type { AsyncOptions } from "./async/async-options.ts";
import { withInterrupt } from "./async/interrupt.ts";
import { checkPolicy } from "./check-config.ts";
import { describeConfig } from "./describe-config.ts";
import type { LearningPolicy } from "./learning-policy.ts";
import { type FoundParent, findParent, isFromRun, loadParent, Parent } from "./parent.ts";
import { releaseWorld } from "./release-world.ts";
import type { ConfigChange } from "./run-config.ts";
import { RunRecorder } from "./run-recorder.ts";
import type { RunState } from "./stages/record.ts";
import type { Metrics, StepContext, TrainContext } from "./stages/stage-context.ts";
import type { TrainConfig } from "./train.ts";
import { criticOf, makeWeights, weightsOf } from "./weights.ts";

const SavedState = z.object({
  guide: z.unknown(),
  replay: z.unknown(),
  klCoefficient: z.number().exactOptional(),
  tokens: z.number(),
  successes: z.array(z.number()),
  async: z.unknown().optional(),
});

/** A run: what stays the same, where it is recorded, and where it is. Trainers hold one; stages are given parts of it. */
export interface TrainingRun<Data = unknown> {
  readonly config: TrainConfig<Data>;
  readonly context: TrainContext<Data>;
  readonly recorder: RunRecorder;
  /** The first step that was still to be made when the run was opened. */
  readonly firstStep: number;
  readonly startedMs: number;
  /** Where its first weights came from, if not from its own policy. */
  readonly parent?: Parent;
  /** Of a run that rolls out ahead: what its saved state says of that, and groups that finished and wait. */
  readonly restored: { readonly state?: unknown; readonly groups: readonly TrajectoryGroup[] };
  state: RunState;
  /** Of the last step. */
  metrics: Metrics;
}

/** Makes the policy, opens the store, and goes back to the last checkpoint there is. */
export async function openTraining<Data>(config: TrainConfig<Data>): Promise<TrainingRun<Data>> {
  const { policy: given, seed = 0, env } = config;
  const parent = await findParent(config);
  const recorder = await RunRecorder.open(config, (config.warmStart?.steps ?? 0) + config.steps);
  let policy: LearningPolicy | undefined;
  try {
    policy = typeof given === "function" ? await given(env, parent?.seed ?? seed) : given;
    checkPolicy(config, policy);
    recorder.chatTemplate = policy.renderer.chatTemplate?.(config.rollout?.format ?? env.format);
    return await resume(config, makeContext(config, policy, recorder), recorder, parent);
  } catch (error) {
    if (typeof given === "function") await policy?.engine.close();
    await releaseWorld(env);
    await recorder.close();
    throw error;
  }
}

function makeContext<Data>(
  config: TrainConfig<Data>,
  policy: LearningPolicy,
  recorder: RunRecorder,
): TrainContext<Data> {
  const { env, algorithm, signal, tasksPerStep = 16, rollout = {}, seed = 0 } = config;
  const learners = config.learners ?? [...new Set(env.roles.map((role) => weightsOf(policy, role)))];
  const engine = forGuide(policy.engine);
  const settings = { ...rollout, ...defined({ sandbox: config.sandbox }) };
  const { renderer, tokenizer, weights } = policy;
  const speech = { renderer, ...defined({ tokenizer, weights }) };
  const makeGuide = config.guide ?? inOrder();
  const guide: Guide<Data> = makeGuide({ env, split: "train", seed, engine, policy: speech, rollout: settings });
  return {
    world: env,
    policy: config.async === undefined ? policy : interruptible(policy, config.async),
    algorithm,
    guide,
    learners,
    roles: env.roles.filter((role) => learners.includes(weightsOf(policy, role))),
    tasksPerStep,
    rollout: settings,
    limit: createLimiter(config.concurrency ?? defaultConcurrency),
    seed,
    onRollout: (finished) => recorder.monitors.recordRollout(finished),
    ...defined({ signal, groupReward: config.groupReward, replay: config.replay?.() }),
  };
}

function interruptible(policy: LearningPolicy, { interrupt = "recompute" }: AsyncOptions): LearningPolicy {
  const engine = withInterrupt(policy.engine, interrupt);
  return engine === policy.engine ? policy : { ...policy, engine };
}

function forGuide(engine: Engine): GuideEngine {
  return {
    get info() {
      return engine.info;
    },
    forward: (batch, options) => engine.forward(batch, options),
    snapshot: async (name) => engine.snapshot(ownWeights(name)),
    release: async ({ weights }) => engine.release({ weights: ownWeights(weights) }),
  };
}

/** A guide does not touch what is learned, nor what it is compared with. */
function ownWeights(name: string): string {
  if (name.startsWith(guideWeights)) return name;
  throw new LudusError("bad-weights", {
    got: `weights "${name}" of a guide`,
    expected: `a name like "${guideWeights}…"`,
  });
}

async function resume<Data>(
  config: TrainConfig<Data>,
  context: TrainContext<Data>,
  recorder: RunRecorder,
  found: FoundParent | undefined,
): Promise<TrainingRun<Data>> {
  const { policy, algorithm, guide, replay } = context;
  const { warnings = [], ...parent } = found ?? {};
  const from = found === undefined ? {} : { parent: Parent.parse(parent) };
  await makeWeights(policy);
  const resolved = describeConfig(config, { policy, guide: guide.name, ...from });
  const isAsync = config.async !== undefined;
  const resumed = await recorder.resume(policy.engine, resolved, config.accept, isAsync);
  const { name } = config.env;
  const run = { config, context, recorder, startedMs: performance.now(), metrics: {}, ...from };
  const start = { type: "run-start", name, ...defined({ parent: shownParent(from.parent) }) } as const;
  if (resumed === undefined) {
    if (from.parent !== undefined) await startFrom(from.parent, config, context);
    const groups = await recorder.begin(resolved, isAsync);
    recorder.monitors.record(start);
    for (const message of warnings) recorder.monitors.record({ type: "warning", message });
    const state = { tokens: 0, successes: [], ...defined({ klCoefficient: algorithm.klInReward?.initial }) };
    return { ...run, firstStep: 0, state, restored: { groups } };
  }
  const { guide: guideState, replay: replayState, async: asyncState, ...state } = SavedState.parse(resumed.state);
  guide.restore(guideState);
  await replay?.restore(replayState, (rollout) => recorder.group(rollout));
  recorder.monitors.record({ ...start, resumedAtStep: recorder.lastStep });
  if (resumed.changes.length > 0) recorder.monitors.record({ type: "warning", message: changesText(resumed.changes) });
  const restored = { state: asyncState, groups: resumed.buffered };
  return { ...run, firstStep: recorder.lastStep + 1, state, restored };
}

function shownParent(parent: Parent | undefined): ParentRun | undefined {
  return parent === undefined ? undefined : { run: parent.run, step: parent.step };
}

/** The parent's weights, without those that this run has no use for: its reference is of the parent's own beginning. */
async function startFrom<Data>(parent: Parent, config: TrainConfig<Data>, context: TrainContext<Data>): Promise<void> {
  const { policy, learners } = context;
  const { warmStart, store, env, algorithm } = config;
  const options = warmStart !== undefined && isFromRun(warmStart) ? { optimizer: warmStart.optimizer } : {};
  await loadParent(policy, parent, store, options);
  const critics = algorithm.critic?.kind === "separate" ? learners.map(criticOf) : [];
  const used = [policyWeights, ...env.roles.map((role) => weightsOf(policy, role)), ...critics];
  for (const weights of policy.engine.info.weights) {
    if (!used.includes(weights)) await policy.engine.release({ weights });
  }
  await makeWeights(policy);
}

function changesText(changes: readonly ConfigChange[]): string {
  const list = changes.map(
    ({ path, stored, given }) => `${path} ${JSON.stringify(stored)} -> ${JSON.stringify(given)}`,
  );
  return `resumed with accepted changes: ${list.join(", ")}`;
}

/** What the stages of one step of learning are given. */
export function atStep<Data>({ config, context }: TrainingRun<Data>, step: number): StepContext<Data> {
  const learningStep = step - (config.warmStart?.steps ?? 0);
  const failures = new FailureTally("training");
  return { ...context, step, learningStep, failures, progress: learningStep / config.steps };
}

/** Why no further step should be made; undefined when one should. */
export function endReason<Data>({ config, state, startedMs }: TrainingRun<Data>): RunEndReason | undefined {
  const { signal, budget, earlyStop } = config;
  if (signal?.aborted) return signal.reason instanceof DoctorStop ? "doctor" : "stopped";
  if (budget?.seconds !== undefined && secondsSince(startedMs) >= budget.seconds) return "time-budget";
  if (budget?.tokens !== undefined && state.tokens >= budget.tokens) return "token-budget";
  if (earlyStop === undefined) return undefined;
  const { success, window = 5 } = earlyStop;
  const recent = state.successes.slice(-window);
  const mean = recent.reduce((a, b) => a + b, 0) / window;
  return recent.length === window && mean >= success ? "early-stop" : undefined;
}

export function secondsSince(startedMs: number): number {
  return (performance.now() - startedMs) / 1000;
}
