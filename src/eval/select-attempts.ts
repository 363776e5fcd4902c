import type { Rollout } from "../rollout/rollout.ts";
import { majorityAnswer } from "../rollout/search/majority-answer.ts";
import { isInfrastructureStop } from "../schema/stop-reason.ts";
import { type EvalReport, isSuccess } from "./evaluate.ts";
import type { Interval } from "./interval.ts";
import { successInterval } from "./success-interval.ts";

/** How often the attempt that a scorer likes best is a success: best of n, n the attempts of the report. */
export async function bestOfN(
  { rollouts }: Pick<EvalReport, "rollouts">,
  score: (rollout: Rollout) => number | Promise<number>,
): Promise<Interval> {
  const success_P_G: number[][] = [];
  for (const attempts of byTask(rollouts)) {
    let best: { rollout: Rollout; value: number } | undefined;
    for (const rollout of attempts) {
      const value = await score(rollout);
      if (best === undefined || value > best.value) best = { rollout, value };
    }
    success_P_G.push([isSuccess(best!.rollout) ? 1 : 0]);
  }
  return successInterval(success_P_G);
}

/**
 * How often the answer that most attempts gave is right, of equally frequent ones the first. Answers are what was said last,
 * unless `answerOf` says otherwise; attempts without one do not vote.
 */
export function majorityVote(
  { rollouts }: Pick<EvalReport, "rollouts">,
  answerOf: (rollout: Rollout) => string | undefined = lastWords,
): Interval {
  const success_P_G = byTask(rollouts).map((attempts) => {
    const votes = attempts.flatMap((rollout) => answerOf(rollout) ?? []);
    const winner = majorityAnswer(votes);
    const elected = attempts.find((rollout) => winner !== undefined && answerOf(rollout) === winner);
    return [elected !== undefined && isSuccess(elected) ? 1 : 0];
  });
  return successInterval(success_P_G);
}

function lastWords({ trajectories }: Rollout): string | undefined {
  return trajectories[0]?.turns.at(-1)?.text.trim();
}

/** Sound attempts at each task. */
function byTask(rollouts: readonly Rollout[]): Rollout[][] {
  const sound = rollouts.filter(({ stop }) => !isInfrastructureStop(stop));
  return [...Map.groupBy(sound, ({ task }) => task.id).values()];
}
