import { cosine, fromScratch, imitate } from "ludus";
import { frozenLake } from "ludus/environments";
import { bestOfN, type EvalReport } from "ludus/eval";
import type { Recipe } from "ludus/recipe";
import { stepLabels, stepLabelsOf, withSearch } from "ludus/rollout";
import type { Trajectory } from "ludus/schema";
import { trainScorer, trainStepScorer } from "ludus/train";
import { mathShepherdClaims } from "./claims.ts";

const env = frozenLake({ isSlippery: false, actionsPerTurn: 1, turns: 10 });
const policy = fromScratch({ size: "tiny", tokenizer: "bytes", valueHead: true });
const labelled = 400;
const continuations = 4;
const checked = { tasks: 60, continuations: 16 };
const tasks = 100;
const attempts = 8;
const learning = { epochs: 5, learningRate: 1e-3 };
const gamma = 0.9;

export const mathShepherd: Recipe = {
  system: "math-shepherd",
  title: "Math-Shepherd: process rewards from rollouts",
  measures: { success: "solved", correlation: "correlation", seconds: "seconds" },
  claims: mathShepherdClaims,
  async run(lab) {
    const warmStart = imitate({ demonstrations: 1000, noise: 0.6, steps: 60, learningRate: cosine(2e-3, 0.1) });
    const start = await lab.begin({ env, policy, warmStart });
    await lab.arm("one attempt", async (arm) => {
      await start.restore();
      const report = await start.evaluate({ tasks, attempts });
      arm.measure({ success: report, seconds: start.seconds });
      const labelledIn = stopwatch();
      const labelling = withSearch(env, stepLabels({ continuations }));
      const made = trajectoriesOf(
        await start.evaluate({ env: labelling, split: "train", tasks: labelled, seed: lab.seed }),
      );
      // of the step model alone: the outcome model needs no continuations
      const labelSeconds = labelledIn();
      const outcomeSeconds = stopwatch();
      const outcome = await trainScorer(start.policy, made, { ...learning, seed: lab.seed });
      const byOutcome = (await bestOfN(report, outcome.score)).mean;
      arm.also("best of 8 by outcome", { success: byOutcome, seconds: outcomeSeconds() });
      const stepSeconds = stopwatch();
      const steps = await trainStepScorer(start.policy, made, { ...learning, seed: lab.seed });
      const bySteps = (await bestOfN(report, steps.score)).mean;
      arm.also("best of 8 by steps", { success: bySteps, seconds: labelSeconds + stepSeconds() });

      // labels are what an attempt came to, discounted by how far away that was: one number for each turn, no continuations
      const returnsOf = ({ turns, score }: Trajectory) =>
        turns.map((_, t) => (score.success ? gamma ** (turns.length - 1 - t) : 0));
      const options = { ...learning, seed: lab.seed, labelsOf: returnsOf, weights: "values" };
      const values = await trainStepScorer(start.policy, made, options);
      const checking = withSearch(env, stepLabels({ continuations: checked.continuations }));
      const held = trajectoriesOf(await start.evaluate({ env: checking, tasks: checked.tasks }));
      const judged: { value: number; share: number; distance: number }[] = [];
      for (const trajectory of held) {
        const learned = await values.steps({ trajectories: [trajectory] });
        const shares = stepLabelsOf(trajectory);
        const T = trajectory.turns.length - 1;
        // the last turn's share is what the attempt came to, not a mean
        for (let t = 0; t < T; t++)
          if (shares[t] !== undefined) judged.push({ value: learned[t], share: shares[t]!, distance: T - t });
      }
      const discounted = (distance: number, share: number) => gamma ** distance * share;
      const own = judged.map(({ value, share, distance }) => [value, discounted(distance, share)] as const);
      arm.also("value of turns", { correlation: correlation(own) });
      // shares of other turns that are as far from the end: how far that is tells nothing here
      const others = [...Map.groupBy(judged, ({ distance }) => distance).values()].flatMap((alike) =>
        alike.map(({ value, distance }, i) => {
          const other = alike[(i + Math.ceil(alike.length / 2)) % alike.length];
          return [value, discounted(distance, other.share)] as const;
        }),
      );
      arm.also("value of other turns", { correlation: correlation(others) });
      for (const scorer of [outcome, steps, values]) await scorer.release();
    });
  },
};

function trajectoriesOf({ rollouts }: EvalReport): Trajectory[] {
  return rollouts.flatMap(({ trajectories }) => trajectories);
}

function stopwatch(): () => number {
  const before = performance.now();
  return () => (performance.now() - before) / 1000;
}

function correlation(pairs: readonly (readonly [number, number])[]): number {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [a, b] = [pairs.map(([x]) => x), pairs.map(([, y]) => y)];
  const [meanA, meanB] = [mean(a), mean(b)];
  const covariance = mean(a.map((x, i) => (x - meanA) * (b[i] - meanB)));
  const deviation = (values: readonly number[], middle: number) =>
    Math.sqrt(mean(values.map((value) => (value - middle) ** 2)));
  const scale = deviation(a, meanA) * deviation(b, meanB);
  return scale === 0 ? 0 : covariance / scale;
}
