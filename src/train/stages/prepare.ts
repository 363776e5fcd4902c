import type { CreditResult, CreditRow } from "../../credit/credit.ts";
import { defined } from "../../defined.ts";
import { type Engine, policyWeights } from "../../engine/engine.ts";
import { klValue } from "../../loss/kl.ts";
import { metric } from "../../schema/metric-names.ts";
import { makeTrainBatch } from "../../schema/train-batch.ts";
import { isRelabelled } from "../../schema/trajectory.ts";
import type { Algorithm } from "../algorithm.ts";
import { type LearnRow, temperatureOf } from "../learn-row.ts";
import { type ChosenGroup, type Measured, measure, type Source, sourcesOf } from "./measure.ts";
import type { TrainContext } from "./stage-context.ts";

export interface Prepared {
  readonly rows: readonly LearnRow[];
  readonly metrics: Readonly<Record<string, number>>;
  /**
   * Old log-probabilities are those of the policy at this version, and until it moves on they stand in for a forward pass. Absent
   * where they are of something else, such as a demonstrator.
   */
  readonly policyVersion?: number;
}

/** What preparing a batch needs of the context. */
export type PrepareContext = Pick<TrainContext, "learners"> & {
  readonly policy: { readonly engine: Engine };
  readonly algorithm: Algorithm;
};

export interface PrepareInput {
  readonly groups: readonly ChosenGroup[];
  /** Coefficient of the penalty in the reward, where the algorithm has one. */
  readonly klCoefficient?: number;
}

/** From groups to rows with advantages: what the engine is asked for depends on what credit and loss say they need. */
export async function prepare(context: PrepareContext, { groups, klCoefficient }: PrepareInput): Promise<Prepared> {
  const { algorithm, learners } = context;
  const { engine } = context.policy;
  const { policyVersion } = engine.info;
  const sources = groups.flatMap((each, copy) => sourcesOf(each, copy, learners, algorithm.view));
  if (sources.length === 0) return { rows: [], metrics: {}, policyVersion };
  const measured = new Map<Source, Measured>();
  for (const [weights, members] of Map.groupBy(sources, ({ trajectory }) => trajectory.weights)) {
    for (const [i, numbers] of (await measure(engine, algorithm, members, weights)).entries()) {
      measured.set(members[i], numbers);
    }
  }
  const weighed = await algorithm.weigh?.(sources.map(({ trajectory }) => trajectory));
  const weights = new Map(sources.map((source, i) => [source, weighed?.[i]]));
  const credited = creditOf(sources, algorithm, (source) => ({
    ...creditRow(source, measured.get(source)!, klCoefficient),
    ...defined({ weights_T: weights.get(source) }),
  }));
  const rows = sources.map((source, i): LearnRow => {
    const { reference_T, values_T, old_T } = measured.get(source)!;
    return {
      ...rowOf(source, algorithm),
      oldLogprobs_T: old_T,
      advantages_T: scaled(credited.advantages_B_T[i], source.chosen.scale),
      ...defined({
        referenceLogprobs_T: reference_T,
        returns_T: credited.returns_B_T === undefined ? undefined : credited.returns_B_T[i],
        oldValues_T: values_T,
      }),
    };
  });
  makeTrainBatch(rows);
  const metrics = {
    ...credited.metrics,
    ...mismatch(measured, policyVersion),
    ...divergence(measured),
    ...defined({ [metric.klCoefficient]: klCoefficient }),
  };
  return { rows, metrics, policyVersion };
}

/** Relabelled attempts are a batch of their own: where advantages are normalised over the batch, the others would change with them. */
function creditOf(
  sources: readonly Source[],
  algorithm: Algorithm,
  rowFor: (source: Source) => CreditRow,
): Pick<CreditResult, "advantages_B_T" | "returns_B_T" | "metrics"> {
  const isOther = ({ sampled, trajectory }: Source) => isRelabelled(sampled ?? trajectory);
  const assign = (some: readonly Source[]) =>
    algorithm.credit.assign([...some.map(rowFor), ...comparedRewards(some, algorithm)]);
  const [own, others] = [sources.filter((source) => !isOther(source)), sources.filter(isOther)];
  if (own.length === 0 || others.length === 0) return assign(sources);
  const [ofOwn, ofOthers] = [assign(own), assign(others)];
  const places = new Map([...own.entries(), ...others.entries()].map(([place, source]) => [source, place]));
  const inOrder = (pick: (result: CreditResult) => readonly Float32Array[]) =>
    sources.map((source) => pick(isOther(source) ? ofOthers : ofOwn)[places.get(source)!]);
  const hasReturns = ofOwn.returns_B_T !== undefined && ofOthers.returns_B_T !== undefined;
  return {
    advantages_B_T: inOrder(({ advantages_B_T }) => advantages_B_T),
    metrics: ofOwn.metrics,
    ...defined({ returns_B_T: hasReturns ? inOrder(({ returns_B_T }) => returns_B_T!) : undefined }),
  };
}

function creditRow(source: Source, { old_T, reference_T, values_T }: Measured, coefficient?: number): CreditRow {
  const { trajectory, chosen, group, rollout, isLast } = source;
  const { mask_T, logprobs_T, role, score, weight, domain } = trajectory;
  const baseline = chosen.baselines?.[role];
  const atSampled = (value: (t: number) => number) => old_T.map((_, t) => (mask_T[t] === 0 ? 0 : value(t)));
  return {
    group,
    rollout,
    role,
    reward: score.total,
    mask_T,
    isLast,
    weight,
    turns: trajectory.turns.map(({ span, reward, stateKey }) => ({
      ...span,
      reward,
      ...defined({ stateKey }),
    })),
    ratios_T: atSampled((t) => Math.exp(old_T[t] - logprobs_T[t])),
    ...defined({
      domain,
      values_T,
      penalties_T:
        reference_T === undefined || coefficient === undefined
          ? undefined
          : atSampled((t) => coefficient * (old_T[t] - reference_T[t])),
      baseline,
    }),
  };
}

/** Rewards of further attempts, in the groups they are compared with; nothing is learned from them. */
function comparedRewards(sources: readonly Source[], { compareWith }: Algorithm): CreditRow[] {
  if (compareWith === undefined) return [];
  return [...Map.groupBy(sources, ({ group }) => group).values()].flatMap((members) => {
    const { trajectory, chosen, group } = members[0];
    const { role, domain } = trajectory;
    const baseline = chosen.baselines?.[role];
    const trajectories = members.map((source) => source.sampled ?? source.trajectory);
    return compareWith({ task: chosen.group.task, trajectories }).map((reward, i): CreditRow => {
      return {
        group,
        rollout: `${group}/compared/${i}`,
        role,
        reward,
        weight: 1,
        isLast: true,
        turns: [],
        mask_T: new Uint8Array(0),
        ratios_T: new Float32Array(0),
        values_T: new Float32Array(0),
        weights_T: new Float32Array(0),
        ...defined({ domain, baseline }),
      };
    });
  });
}

function rowOf({ trajectory, group, rollout, sampled }: Source, { maskStops, learnFrom, targetsOf }: Algorithm) {
  const { id, role, tokens_T, mask_T, weight, weights, score, turns, logprobs_T, stop } = trajectory;
  const isLearned = !(maskStops as readonly string[]).includes(stop) && learnFrom?.(sampled ?? trajectory) !== false;
  return {
    id,
    group,
    rollout,
    role,
    tokens_T,
    weight,
    weights,
    reward: score.total,
    temperature: temperatureOf(trajectory),
    mask_T: isLearned ? mask_T : new Uint8Array(mask_T.length),
    turns: turns.map(({ span }) => span),
    behaviourLogprobs_T: logprobs_T,
    ...defined({
      targets: isLearned ? targetsOf?.(trajectory) : undefined,
      viewOffset: sampled === undefined ? undefined : sampled.tokens_T.length - tokens_T.length,
      isRelabelled: isRelabelled(sampled ?? trajectory) || undefined,
    }),
  };
}

function scaled(values_T: Float32Array, scale: number): Float32Array {
  return scale === 1 ? values_T : values_T.map((value) => value * scale);
}

/** How far sampling and training disagree about the same tokens under the same weights. */
function mismatch(measured: ReadonlyMap<Source, Measured>, version: number): Record<string, number> {
  let [max, sum, count] = [0, 0, 0];
  for (const [{ trajectory, sampled, chosen }, { current_T }] of measured) {
    const isAnother = sampled !== undefined || chosen.isOffPolicy === true || trajectory.truncation !== undefined;
    if (current_T === undefined || isAnother || trajectory.weights !== policyWeights) continue;
    for (let t = 0; t < trajectory.mask_T.length; t++) {
      if (trajectory.mask_T[t] === 0 || trajectory.versions_T[t] !== version) continue;
      const difference = Math.abs(current_T[t] - trajectory.logprobs_T[t]);
      max = Math.max(max, difference);
      sum += difference;
      count++;
    }
  }
  return count === 0 ? {} : { [metric.mismatchMax]: max, [metric.mismatchMean]: sum / count };
}

/** Mean over sampled tokens of an estimate (k3) of the divergence from the reference, before the update. */
function divergence(measured: ReadonlyMap<Source, Measured>): Record<string, number> {
  let [sum, count] = [0, 0];
  for (const [{ trajectory }, { old_T, reference_T }] of measured) {
    if (reference_T === undefined) continue;
    for (let t = 0; t < old_T.length; t++) {
      if (trajectory.mask_T[t] === 0) continue;
      sum += klValue("k3", old_T[t] - reference_T[t]);
      count++;
    }
  }
  return count === 0 ? {} : { [metric.klReference]: sum / count };
}
