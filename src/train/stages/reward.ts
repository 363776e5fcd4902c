import type { PlayedRollout, Rollout } from "../../rollout/rollout.ts";
import { metric } from "../../schema/metric-names.ts";
import type { Metrics } from "./stage-context.ts";

/** Scores attempts as they end, while others are still being sampled, and measures how long that takes. */
export interface RewardStage {
  score<Data>(played: PlayedRollout<Data>): Promise<Rollout<Data>>;
  /** Seconds of scoring, of all attempts together; several may be scored at once. */
  readonly metrics: Metrics;
}

/** The reward stage of one step. A scorer that throws or takes too long is the rollout's stop reason. */
export function rewardStage(): RewardStage {
  let milliseconds = 0;
  return {
    async score(played) {
      const started = performance.now();
      const rollout = await played.score();
      milliseconds += performance.now() - started;
      return rollout;
    },
    get metrics() {
      return { [metric.seconds("reward")]: milliseconds / 1000 };
    },
  };
}
