import { mkdir } from "node:fs/promises";
import { defined } from "../../defined.ts";
import type { Rng } from "../../random.ts";
import { annotated, fakeTask, fakeTrajectory } from "../../schema/fake-trajectory.ts";
import type { Trajectory, TrajectoryGroup, TurnAnnotations } from "../../schema/index.ts";
import { metric } from "../../schema/metric-names.ts";
import { type Advantages, openRun, type StepWrites } from "../../store/index.ts";

export interface FakeRunOptions {
  /** Steps to write, from `firstStep` on. */
  steps: number;
  firstStep: number;
  groupsPerStep: number;
  groupSize: number;
  /** Says that it is over. */
  isEnded: boolean;
  /** What some trajectories should be like: of the first group of each step. */
  fields: Partial<Trajectory>;
  /** Of the first turn of the same trajectories. */
  annotations: TurnAnnotations;
  now: () => number;
}

const defaults: FakeRunOptions = {
  steps: 20,
  firstStep: 0,
  groupsPerStep: 2,
  groupSize: 4,
  isEnded: true,
  fields: {},
  annotations: {},
  now: () => 1_700_000_000_000,
};

/** A folder with a run of anything at all in it: for tests of what shows runs. */
export async function writeFakeRun(directory: string, rng: Rng, options: Partial<FakeRunOptions> = {}): Promise<void> {
  const { steps, firstStep, isEnded, now, ...sizes } = { ...defaults, ...options };
  await mkdir(directory, { recursive: true });
  const run = await openRun(directory, { now });
  for (let step = firstStep; step < firstStep + steps; step++) {
    await run.append(step, fakeStep(step, rng, sizes));
  }
  if (isEnded) {
    const last = firstStep + steps - 1;
    await run.append(last, { events: [{ type: "run-end", reason: "finished" }] });
  }
  await run.close();
}

type StepOptions = Pick<FakeRunOptions, "groupsPerStep" | "groupSize" | "fields"> &
  Partial<Pick<FakeRunOptions, "annotations">>;

export function fakeStep(step: number, rng: Rng, options: StepOptions): StepWrites {
  const metrics = fakeMetrics(step, rng);
  const groups = Array.from({ length: options.groupsPerStep }, (_, index) => {
    const group = fakeGroup(`train/${index}`, step, rng, options, index === 0);
    // of every other group nothing is learned
    return { group, split: "train", advantages: index % 2 === 0 ? fakeAdvantages(group) : new Map() };
  });
  const message = "All groups of the last steps have equal rewards: nothing is learned from them.";
  const finding = { type: "finding", step, code: "uniform-groups", message } as const;
  return {
    metrics,
    groups,
    events: [{ type: "step-end", step, metrics: {} }, ...(step % 10 === 5 ? [finding] : [])],
    ...defined({ config: step === 0 ? fakeConfig : undefined }),
  };
}

const fakeConfig = {
  env: { name: "guess", limits: { turns: 8 } },
  algorithm: { name: "grpo", groupSize: 4, sampling: { temperature: 1 } },
  policy: { parameters: 860_000 },
  steps: 100,
  seed: 7,
};

function fakeGroup(id: string, step: number, rng: Rng, options: StepOptions, isChosen: boolean): TrajectoryGroup {
  const trajectories = Array.from({ length: options.groupSize }, (_, i) => {
    const rollout = `${step}/${id}/${i}`;
    const { fields, annotations = {} } = isChosen && i === 0 ? options : { fields: {} };
    const trajectory = fakeTrajectory(rng, { id: rollout, rollout, taskId: id, ...fields }, { vocabularySize: 256 });
    return Object.keys(annotations).length === 0 ? trajectory : annotated(trajectory, annotations);
  });
  return { task: fakeTask(rng, id), trajectories };
}

/** Rewards above the mean, more of them at the end. */
function fakeAdvantages({ trajectories }: TrajectoryGroup): Advantages {
  const mean = trajectories.reduce((sum, { score }) => sum + score.total, 0) / trajectories.length;
  return new Map(
    trajectories.map(({ id, mask_T, score }) => [
      id,
      Float32Array.from(mask_T, (mask, t) => (mask * (score.total - mean) * (t + 1)) / mask_T.length),
    ]),
  );
}

function fakeMetrics(step: number, rng: Rng): Record<string, number> {
  const learned = 1 - Math.exp(-step / 40);
  const noise = (scale: number) => scale * rng.normal();
  return {
    [metric.reward]: learned + noise(0.05),
    [metric.success]: Math.min(1, Math.max(0, learned + noise(0.04))),
    [metric.rewardPart("outcome")]: 0.8 * learned + noise(0.02),
    [metric.rewardPart("format")]: 0.2 * learned + noise(0.01),
    [metric.stop("completed")]: 0.2 + 0.7 * learned,
    [metric.stop("max-turns")]: 0.6 * (1 - learned),
    [metric.stop("parse-error")]: 0.2 - 0.1 * learned,
    [metric.rewardStd]: 0.4 * (1 - learned) + 0.1 + noise(0.02),
    [metric.entropy]: 2.2 - 1.4 * learned + noise(0.05),
    [metric.klOldNew]: 0.002 + Math.abs(noise(0.001)),
    [metric.klReference]: 0.2 * learned + Math.abs(noise(0.004)),
    [metric.clipLow]: Math.abs(noise(0.01)),
    [metric.clipHigh]: 0.01 + Math.abs(noise(0.01)),
    [metric.gradientNorm]: Math.exp(noise(0.5)),
    [metric.loss]: 0.1 - 0.1 * learned + noise(0.01),
    [metric.learningRate]: 1e-3,
    [metric.sampledTokens]: 2000 + 400 * learned,
    [metric.seconds("rollout")]: 0.6 + Math.abs(noise(0.05)),
    [metric.seconds("credit")]: 0.02,
    [metric.seconds("update")]: 0.3 + Math.abs(noise(0.03)),
    [metric.tokensPerSecond]: 3000 + noise(100),
  };
}
