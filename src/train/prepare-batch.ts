import type { CreditRow } from "../credit/credit.ts";
import type { Engine, Forward, ForwardOptions } from "../engine/engine.ts";
import { LudusError } from "../errors.ts";
import { metric } from "../monitor/metric-names.ts";
import { makeTrainBatch, type TrainBatch, type TrainRow } from "../schema/train-batch.ts";
import type { Trajectory } from "../schema/trajectory.ts";
import { learnable, type TrajectoryGroup } from "../schema/trajectory-group.ts";
import type { Algorithm } from "./algorithm.ts";

/** Frozen weights that divergence is measured from. */
export const referenceWeights = "reference";
/** A separate critic's weights. */
export const criticWeights = "critic";

/** A group that is learned from; `scale` applies to its advantages. */
export interface ChosenGroup {
  readonly group: TrajectoryGroup;
  readonly scale: number;
  /** Reward of a greedy attempt at the same task, where the credit scheme compares with one. */
  readonly baseline?: number;
}

export interface Prepared {
  readonly batch: TrainBatch;
  readonly metrics: Readonly<Record<string, number>>;
  /** True where the old log-probabilities are those of the sampling: the first update needs no forward pass of its own. */
  readonly isOnPolicy: boolean;
}

interface Source {
  readonly trajectory: Trajectory;
  readonly group: string;
  readonly chosen: ChosenGroup;
  readonly isLast: boolean;
}

/** From groups to rows with advantages: what the engine is asked for depends on what credit and loss say they need. */
export async function prepareBatch(
  engine: Engine,
  algorithm: Algorithm,
  chosen: readonly ChosenGroup[],
): Promise<Prepared> {
  const sources = chosen.flatMap((each, copy) => sourcesOf(each, copy));
  if (sources.length === 0) return { batch: { rows: [] }, metrics: {}, isOnPolicy: true };
  const temperature = sources[0]!.trajectory.temperature;
  const { credit, loss, critic, klInReward, maskStops } = algorithm;
  const needsValues = credit.needs.values === true || loss.needs.values === true;
  const needsReference = loss.needs.reference === true || klInReward !== undefined;
  const version = engine.info.policyVersion;
  const isOnPolicy = sources.every(({ trajectory }) => hasVersion(trajectory, version));
  if (needsValues && critic === undefined) {
    throw new LudusError("no-critic", {
      got: `${algorithm.name} without a critic`,
      expected: "`critic` in the algorithm",
    });
  }

  const forward = (options: ForwardOptions) => forwardOf(engine, sources, { temperature, ...options });
  const isShared = critic?.kind === "shared";
  const current = !isOnPolicy || (needsValues && isShared) ? await forward({}) : undefined;
  const reference = needsReference ? await forward({ weights: referenceWeights }) : undefined;
  const judged = needsValues ? (isShared ? current : await forward({ weights: criticWeights })) : undefined;

  const old_B_T = isOnPolicy ? sources.map(({ trajectory }) => trajectory.logprobs_T) : current!.logprobs_B_T;
  const values_B_T = judged === undefined ? undefined : valuesOf(judged);
  const penalties_B_T = penalties(sources, old_B_T, reference, klInReward?.coefficient);
  const credited = credit.assign(
    sources.map((source, i) => creditRow(source, i, { values_B_T, old_B_T, penalties_B_T })),
  );
  const rows = sources.map((source, i): TrainRow => {
    const { trajectory, chosen: from } = source;
    const isMasked = (maskStops as readonly string[]).includes(trajectory.stop);
    return {
      ...{ id: trajectory.id, group: source.group, rollout: trajectory.rollout, role: trajectory.role },
      ...{ tokens_T: trajectory.tokens_T, weight: trajectory.weight, reward: trajectory.score.total },
      mask_T: isMasked ? new Uint8Array(trajectory.mask_T.length) : trajectory.mask_T,
      turns: trajectory.turns.map(({ span }) => span),
      behaviourLogprobs_T: trajectory.logprobs_T,
      oldLogprobs_T: old_B_T[i]!,
      advantages_T: scaled(credited.advantages_B_T[i]!, from.scale),
      ...(reference === undefined ? {} : { referenceLogprobs_T: reference.logprobs_B_T[i]! }),
      ...(credited.returns_B_T === undefined ? {} : { returns_T: credited.returns_B_T[i]! }),
      ...(values_B_T === undefined ? {} : { oldValues_T: values_B_T[i]! }),
    };
  });
  const mismatch = current === undefined ? {} : mismatchMetrics(sources, current, version);
  return { batch: makeTrainBatch(rows), metrics: { ...credited.metrics, ...mismatch }, isOnPolicy };
}

function sourcesOf(chosen: ChosenGroup, copy: number): Source[] {
  const trajectories = learnable(chosen.group);
  return trajectories.map((trajectory, i) => {
    const next = trajectories[i + 1];
    return {
      ...{ trajectory, chosen },
      // a group may be learned from twice (replacement): the copies are groups of their own
      group: `${chosen.group.task.id}#${copy}/${trajectory.role}`,
      isLast: next?.rollout !== trajectory.rollout || next.role !== trajectory.role,
    };
  });
}

function hasVersion({ mask_T, versions_T }: Trajectory, version: number): boolean {
  return mask_T.every((m, t) => m === 0 || versions_T[t] === version);
}

async function forwardOf(engine: Engine, sources: readonly Source[], options: ForwardOptions): Promise<Forward> {
  const rows = sources.map(({ trajectory }) => ({ tokens: trajectory.tokens_T, mask: trajectory.mask_T }));
  return engine.forward({ rows }, options);
}

function valuesOf(forward: Forward): readonly Float32Array[] {
  if (forward.values_B_T !== undefined) return forward.values_B_T;
  throw new LudusError("no-values", {
    got: "an engine without a value head",
    expected: "one with: this algorithm needs values",
    hint: "embedded({ …, valueHead: true }), or fromScratch({ valueHead: true }).",
  });
}

function penalties(
  sources: readonly Source[],
  old_B_T: readonly Float32Array[],
  reference: Forward | undefined,
  coefficient: number | undefined,
): readonly Float32Array[] | undefined {
  if (reference === undefined || coefficient === undefined) return undefined;
  return sources.map(({ trajectory }, i) =>
    trajectory.logprobs_T.map((_, t) =>
      trajectory.mask_T[t] === 0 ? 0 : coefficient * (old_B_T[i]![t]! - reference.logprobs_B_T[i]![t]!),
    ),
  );
}

function creditRow(
  { trajectory, group, chosen, isLast }: Source,
  i: number,
  given: {
    values_B_T: readonly Float32Array[] | undefined;
    old_B_T: readonly Float32Array[];
    penalties_B_T: readonly Float32Array[] | undefined;
  },
): CreditRow {
  const { mask_T, logprobs_T } = trajectory;
  const { values_B_T, old_B_T, penalties_B_T } = given;
  return {
    ...{ group, rollout: trajectory.rollout, role: trajectory.role, reward: trajectory.score.total, mask_T, isLast },
    weight: trajectory.weight,
    turns: trajectory.turns.map(({ span, reward, stateKey }) => ({
      ...span,
      reward,
      ...(stateKey === undefined ? {} : { stateKey }),
    })),
    ratios_T: old_B_T[i]!.map((old, t) => (mask_T[t] === 0 ? 0 : Math.exp(old - logprobs_T[t]!))),
    ...(trajectory.domain === undefined ? {} : { domain: trajectory.domain }),
    ...(values_B_T === undefined ? {} : { values_T: values_B_T[i]! }),
    ...(penalties_B_T === undefined ? {} : { penalties_T: penalties_B_T[i]! }),
    ...(chosen.baseline === undefined ? {} : { baseline: chosen.baseline }),
  };
}

function scaled(values_T: Float32Array, scale: number): Float32Array {
  return scale === 1 ? values_T : values_T.map((value) => value * scale);
}

/** How far sampling and training disagree about the same tokens under the same weights. */
function mismatchMetrics(sources: readonly Source[], forward: Forward, version: number): Record<string, number> {
  let [max, sum, count] = [0, 0, 0];
  for (const [i, { trajectory }] of sources.entries()) {
    for (let t = 0; t < trajectory.mask_T.length; t++) {
      if (trajectory.mask_T[t] === 0 || trajectory.versions_T[t] !== version) continue;
      const difference = Math.abs(forward.logprobs_B_T[i]![t]! - trajectory.logprobs_T[t]!);
      max = Math.max(max, difference);
      sum += difference;
      count++;
    }
  }
  return count === 0 ? {} : { [metric.mismatchMax]: max, [metric.mismatchMean]: sum / count };
}
