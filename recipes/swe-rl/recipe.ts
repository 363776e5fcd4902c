import { cosine, type EvalReport, fromScratch, grpo, imitate, metric } from "ludus";
import type { Recipe, Trained } from "ludus/recipe";
import { sweRlClaims } from "./claims.ts";
import { type BugReward, bugs, near, tests } from "./world.ts";

const both: BugReward = async (episode, isFixed) =>
  ((await near(episode, isFixed)) + (await tests(episode, isFixed))) / 2;
/** Outside of training progress is 1. */
const curriculum: BugReward = (episode, isFixed) =>
  ((episode.training?.progress ?? 1) < 0.5 ? near : tests)(episode, isFixed);

const arms: readonly (readonly [name: string, reward: BugReward])[] = [
  ["similarity", near],
  ["tests", tests],
  ["both", both],
  ["similarity, then tests", curriculum],
];

// GRPO with a KL penalty and 16 rollouts a problem, as published; rate and batch are for 0.3M parameters
const algorithm = grpo({ groupSize: 16, kl: 0.01, learningRate: 3e-4 });
const common = { steps: 40, tasksPerStep: 16 };

export const sweRlRecipe: Recipe = {
  system: "swe-rl",
  title: "SWE-RL",
  measures: {
    success: "mended",
    early: "mended in training, first half",
    misranked: "wrong fix ranked above a right one",
    wrong: "reward of wrong fixes",
    seconds: "seconds",
  },
  claims: sweRlClaims,
  async run(lab) {
    const start = await lab.begin({
      env: bugs(near),
      policy: fromScratch({ size: "tiny", tokenizer: "bytes" }),
      warmStart: imitate({
        demonstrations: 6000,
        noise: 0.2,
        steps: 700,
        batchSize: 32,
        learningRate: cosine(3e-3, 0.1),
      }),
    });
    await lab.arm("imitation", async (arm) => {
      await start.restore();
      arm.measure({ success: await start.evaluate(), seconds: start.seconds });
    });
    for (const [name, reward] of arms) {
      await lab.arm(name, async (arm) => {
        const env = bugs(reward);
        const trained = await start.train(name, { env, algorithm, ...common });
        const ranked = await start.evaluate({ env, tasks: 40, attempts: 16 });
        arm.measure({ success: await start.evaluate(), early: earlyOf(trained), ...rankingOf(ranked) });
        arm.measure({ seconds: trained.seconds });
      });
    }
  },
};

function earlyOf({ history }: Trained): number {
  const values = history.slice(0, history.length / 2).map((step) => step[metric.success] ?? 0);
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}

/** Of pairs of a right and a wrong fix of the same bug, how many have at least as much reward for the wrong one; what wrong ones get. */
function rankingOf({ rollouts }: EvalReport): { misranked: number; wrong: number } {
  let [pairs, misranked, wrongs, total] = [0, 0, 0, 0];
  for (const attempts of Map.groupBy(rollouts, ({ task }) => task.id).values()) {
    const scores = attempts.flatMap(({ trajectories }) => trajectories.slice(0, 1).map(({ score }) => score));
    const wrong = scores.filter(({ success, total: reward }) => !success && reward >= 0);
    wrongs += wrong.length;
    total += wrong.reduce((sum, score) => sum + score.total, 0);
    for (const right of scores.filter(({ success }) => success)) {
      pairs += wrong.length;
      misranked += wrong.filter((score) => score.total >= right.total).length;
    }
  }
  return { misranked: pairs === 0 ? 0 : misranked / pairs, wrong: wrongs === 0 ? 0 : total / wrongs };
}
