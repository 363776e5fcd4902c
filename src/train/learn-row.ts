import type { TrainRow } from "../schema/train-batch.ts";
import type { Trajectory } from "../schema/trajectory.ts";

/** A row, and which weights learn from it. */
export interface LearnRow extends TrainRow {
  readonly weights: string;
  /** What its log-probabilities are at. */
  readonly temperature: number;
}

/** What a trajectory's log-probabilities are at: greedy sampling reports those at temperature 1. */
export function temperatureOf({ temperature }: Pick<Trajectory, "temperature">): number {
  return temperature === 0 ? 1 : temperature;
}

/** A trajectory as a row without credit: to imitate, to compare. `key` sets it apart where the same trajectory occurs again. */
export function plainRow(trajectory: Trajectory, key: string, temperature = 1): LearnRow {
  const { tokens_T, mask_T, logprobs_T, id, role } = trajectory;
  return {
    id,
    role,
    group: `${key}/${role}`,
    rollout: `${key}/${trajectory.rollout}/${role}`,
    tokens_T,
    mask_T,
    weight: trajectory.weight,
    reward: trajectory.score.total,
    weights: trajectory.weights,
    temperature,
    behaviourLogprobs_T: logprobs_T,
    oldLogprobs_T: logprobs_T,
    advantages_T: new Float32Array(tokens_T.length),
    turns: trajectory.turns.map(({ span }) => span),
  };
}
