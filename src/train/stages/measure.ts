import { defined } from "../../defined.ts";
import { type Engine, policyWeights } from "../../engine/engine.ts";
import { LudusError } from "../../errors.ts";
import type { Trajectory } from "../../schema/trajectory.ts";
import { learnable, type TrajectoryGroup } from "../../schema/trajectory-group.ts";
import type { Algorithm } from "../algorithm.ts";
import { temperatureOf } from "../learn-row.ts";
import { type ForwardRow, forwardRows } from "../row-forward.ts";
import { together } from "../together.ts";
import { criticOf, needsReference, referenceOf } from "../weights.ts";

/** A group that is learned from; `scale` applies to its advantages. */
export interface ChosenGroup {
  readonly group: TrajectoryGroup;
  readonly scale: number;
  /** Only what this role said; all roles where absent. */
  readonly role?: string;
  /** Not sampled as it is, whatever its versions say: log-probabilities before the update are computed. */
  readonly isOffPolicy?: boolean;
  /** For each role the reward of a greedy attempt at the same task, where the credit scheme compares with one. */
  readonly baselines?: Readonly<Record<string, number>>;
}

/** A trajectory of a batch. */
export interface Source {
  /** As it is learned from. */
  readonly trajectory: Trajectory;
  readonly group: string;
  readonly rollout: string;
  readonly chosen: ChosenGroup;
  readonly isLast: boolean;
  /** As it was sampled, where the algorithm's view of it is another. */
  readonly sampled?: Trajectory;
}

/** What the engine says about a source before the update. */
export interface Measured {
  readonly old_T: Float32Array;
  /** From a forward pass with the weights that learn, where one was made. */
  readonly current_T?: Float32Array;
  readonly reference_T?: Float32Array;
  readonly values_T?: Float32Array;
}

export function sourcesOf(
  chosen: ChosenGroup,
  copy: number,
  learners: readonly string[],
  view: Algorithm["view"],
): Source[] {
  const trajectories = learnable(chosen.group).filter(
    ({ role, weights }) => (chosen.role ?? role) === role && learners.includes(weights),
  );
  return trajectories.map((trajectory, i) => {
    const { role, rollout } = trajectory;
    const next = trajectories[i + 1];
    const viewed = view?.(trajectory) ?? trajectory;
    return {
      trajectory: viewed,
      chosen,
      ...defined({ sampled: viewed === trajectory ? undefined : trajectory }),
      // a group may be learned from twice (replacement): the copies are groups and rollouts of their own
      group: `${chosen.group.task.id}#${copy}/${role}`,
      rollout: `${rollout}#${copy}/${role}`,
      isLast: next?.rollout !== rollout || next.role !== role,
    };
  });
}

/** One forward pass with each of the weights that are needed, over the rows they are needed for. */
export async function measure(
  engine: Engine,
  algorithm: Algorithm,
  sources: readonly Source[],
  weights: string,
): Promise<Measured[]> {
  const { credit, loss, critic } = algorithm;
  const needsValues = credit.needs.values === true || loss.needs.values === true;
  const isShared = critic?.kind === "shared";
  const rows = sources.map(({ trajectory }) => ({
    tokens_T: trajectory.tokens_T,
    mask_T: trajectory.mask_T,
    oldLogprobs_T: trajectory.logprobs_T,
    temperature: temperatureOf(trajectory),
  }));
  const { policyVersion } = engine.info;
  const isFresh_B = sources.map(({ trajectory, sampled, chosen }) => {
    // under another prompt the same policy gives its own words other probabilities, as does what top-p or top-k left
    return (
      sampled === undefined &&
      trajectory.truncation === undefined &&
      chosen.isOffPolicy !== true &&
      weights === policyWeights &&
      hasVersion(trajectory, policyVersion)
    );
  });
  const asksAll = needsValues && isShared;
  const isAsked_B = isFresh_B.map((isFresh) => asksAll || !isFresh);
  const asked = new Set<ForwardRow>(rows.filter((_, b) => isAsked_B[b]));
  const [current, reference, separate] = await together([
    forwardRows(engine, rows, { weights, isIdle: (row) => !asked.has(row) }),
    needsReference(algorithm) ? forwardRows(engine, rows, { weights: referenceOf(weights) }) : undefined,
    needsValues && !isShared ? forwardRows(engine, rows, { weights: criticOf(weights) }) : undefined,
  ]);
  const criticForward = separate ?? current;
  if (needsValues && criticForward.values_B_T === undefined) throw noValues();
  return sources.map(({ trajectory }, b) => ({
    old_T: isFresh_B[b] ? trajectory.logprobs_T : current.logprobs_B_T[b],
    ...defined({
      current_T: isAsked_B[b] ? current.logprobs_B_T[b] : undefined,
      reference_T: reference === undefined ? undefined : reference.logprobs_B_T[b],
      values_T: needsValues ? criticForward.values_B_T![b] : undefined,
    }),
  }));
}

function hasVersion({ mask_T, versions_T }: Trajectory, version: number): boolean {
  return mask_T.every((m, t) => m === 0 || versions_T[t] === version);
}

/** Also said before the first rollout, when the policy is there. */
export function noValues(): LudusError {
  return new LudusError("no-values", {
    got: "an engine without a value head",
    expected: "one with: this algorithm needs values",
    hint: "embedded({ …, valueHead: true }), or fromScratch({ valueHead: true }).",
  });
}
