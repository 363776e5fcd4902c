import { type Algorithm, cosine, type Env, fromScratch, grpo, imitate, vspo } from "ludus";
import { type CountdownTask, countdown } from "ludus/environments";
import type { Recipe } from "ludus/recipe";
import { makeReward, type Reward, staged } from "ludus/reward";
import { signedTerms } from "../signed-terms.ts";
import { vspoClaims } from "./claims.ts";

type Counting = Env<CountdownTask, undefined>;

const plain = countdown({ counts: [3], maxNumber: 9, minTarget: 1, maxTarget: 27, operators: ["+", "-"] });
const policy = fromScratch({ size: "tiny", tokenizer: "bytes" });
const steps = 300;
const tasksPerStep = 16;
const learningRate = 1e-3;

const solved = async (episode: Parameters<Reward<CountdownTask, undefined>>[0]) =>
  (await plain.score!({ ...episode, role: "agent" })) === 1;

/** Nothing but the right answer counts. */
const exact: Counting = { ...plain, score: async (episode) => ((await solved(episode)) ? 1 : 0) };

/** What an answer is worth: half by how many of its numbers are given ones, half, where all are, by how close it comes; 1 where it is right. */
const closeness: Reward<CountdownTask, undefined> = makeReward(
  async (episode) => {
    const { numbers, target } = episode.task;
    const success = await solved(episode);
    const terms = signedTerms(episode.answer) ?? [];
    const share = shareGiven(terms, numbers);
    const value = terms.reduce((sum, term) => sum + term, 0);
    const close = share === 1 ? 0.4 / (1 + Math.abs(value - target)) : 0;
    const total = success ? 1 : 0.5 * share + close;
    return { total, parts: { outcome: total }, success };
  },
  { range: [0, 1] },
);

/** PRS: first an equation at all, then one of as many numbers, then its numbers and its value. */
const inStages: Counting = {
  ...plain,
  score: staged<CountdownTask, undefined>({
    parsed: ({ answer }) => signedTerms(answer) !== undefined,
    fits: ({ answer, task }) => signedTerms(answer)?.length === task.numbers.length,
    answer: closeness,
  }),
};

/** The share of the given numbers that occur, each as often as it is given. */
function shareGiven(terms: readonly number[], numbers: readonly number[]): number {
  const left = terms.map(Math.abs);
  const found = numbers.filter((number) => {
    const at = left.indexOf(number);
    if (at >= 0) left.splice(at, 1);
    return at >= 0;
  });
  return found.length / numbers.length;
}

export const vspoRecipe: Recipe = {
  system: "vspo",
  title: "Progressive reward shaping and VSPO",
  measures: { success: "right", uniform: "groups without a difference", gradient: "gradient norm", seconds: "seconds" },
  claims: vspoClaims,
  async run(lab) {
    // what an equation looks like, not how to find the right one: random terms alone
    const warmStart = imitate({ demonstrations: 1000, noise: 1, steps: 80, learningRate: cosine(2e-3, 0.1) });
    const start = await lab.begin({ env: exact, policy, warmStart });
    await lab.arm("warm start", async (arm) => {
      await start.restore();
      arm.measure({ success: await start.evaluate(), seconds: start.seconds });
    });
    const arms: [string, Counting, Algorithm][] = [
      ["GRPO, exact match", exact, grpo({ learningRate })],
      ["VSPO, exact match", exact, vspo({ learningRate })],
      ["GRPO, staged", inStages, grpo({ learningRate })],
      ["VSPO, staged", inStages, vspo({ learningRate, maxReward: 1.5 })],
    ];
    for (const [name, env, algorithm] of arms) {
      await lab.arm(name, async (arm) => {
        const { history, seconds } = await start.train(name, { env, algorithm, steps, tasksPerStep });
        const mean = (metric: string) => {
          const values = history.flatMap((step) => step[metric] ?? []);
          return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
        };
        const uniform = mean("filter/uniform-groups");
        arm.measure({ success: await start.evaluate(), uniform, gradient: mean("update/gradient-norm"), seconds });
        arm.curve(
          "success",
          history.map((step) => step["rollout/success"] ?? 0),
        );
        arm.curve(
          "reward",
          history.map((step) => step["rollout/reward"] ?? 0),
        );
      });
    }
  },
};
