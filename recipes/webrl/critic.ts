import { makeTrajectory, type Trajectory } from "ludus/schema";
import { type LearningPolicy, type StepScorerModel, trainStepScorer } from "ludus/train";

/** V of states: how likely an episode that is there succeeds, by the labels it is taught with. Cross-entropy, as in the paper. */
export class Critic {
  readonly #labels = new Map<string, number>();
  #model: StepScorerModel | undefined;

  static async open(policy: LearningPolicy, seen: readonly Trajectory[], labelOf: (trajectory: Trajectory) => number) {
    const critic = new Critic();
    const labelsOf = ({ id, turns }: Trajectory) => turns.map(() => critic.#labels.get(id));
    const states = critic.#labelled(seen, labelOf);
    const options = { labelsOf, weights: "critic", epochs: 2, learningRate: 1e-3 };
    critic.#model = await trainStepScorer(policy, states, options);
    return critic;
  }

  #labelled(seen: readonly Trajectory[], labelOf: (trajectory: Trajectory) => number): Trajectory[] {
    for (const trajectory of seen) this.#labels.set(trajectory.id, labelOf(trajectory));
    return seen.map(beforeTurns);
  }

  learn(seen: readonly Trajectory[], labelOf: (trajectory: Trajectory) => number): Promise<void> {
    return this.#model!.learn(this.#labelled(seen, labelOf));
  }

  /** Before each turn. */
  values(trajectory: Trajectory): Promise<readonly number[]> {
    return this.#model!.steps({ trajectories: [beforeTurns(trajectory)] });
  }

  close(): Promise<void> {
    return this.#model!.release();
  }
}

/** Only the first token of each turn: the value there is that of the state before anything is said. */
function beforeTurns(trajectory: Trajectory): Trajectory {
  const mask_T = new Uint8Array(trajectory.mask_T.length);
  for (const { span } of trajectory.turns) if (span.end > span.start) mask_T[span.start] = 1;
  return makeTrajectory({
    ...trajectory,
    mask_T,
    logprobs_T: trajectory.logprobs_T.map((logprob, t) => (mask_T[t] === 0 ? 0 : logprob)),
    versions_T: trajectory.versions_T.map((version, t) => (mask_T[t] === 0 ? -1 : version)),
  });
}
