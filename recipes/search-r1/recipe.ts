import { cosine, type EvalReport, fromScratch, grpo, imitate, ppo } from "ludus";
import { searchQa } from "ludus/environments";
import { type Ablated, type Recipe, withoutActionMask } from "ludus/recipe";

// questions of one or two hops; the reward is exact match of the answer and nothing else
const env = searchQa({ entities: 40, maxHops: 2 });
const learningRate = 5e-4;
const steps = 60;

export const searchR1: Recipe = {
  system: "search-r1",
  title: "Search-R1 and ReSearch",
  claim: "With a reward for the answer alone an agent learns to search as often as a question needs",
  measures: {
    success: "right",
    oneHop: "right, 1 hop",
    twoHops: "right, 2 hops",
    searchesOne: "searches, 1 hop",
    searchesTwo: "searches, 2 hops",
    seconds: "seconds",
  },
  compare: [
    { method: "GRPO", baseline: "warm start", measure: "success", want: "more" },
    { method: "GRPO", baseline: "GRPO, retrieved tokens not masked", measure: "success", want: "more" },
    { method: "PPO", baseline: "warm start", measure: "success", want: "more" },
    { method: "GRPO", baseline: "warm start", measure: "twoHops", want: "more" },
    { method: "GRPO", baseline: "warm start", measure: "searchesOne", want: "less" },
  ],
  async run(lab) {
    const start = await lab.begin({
      env,
      policy: fromScratch({ size: "tiny", tokenizer: "bytes", valueHead: true }),
      warmStart: imitate({ demonstrations: 4000, noise: 0.45, steps: 500, learningRate: cosine(3e-3, 0.1) }),
    });
    lab.measure("warm start", { ...measured(await start.evaluate()), seconds: start.seconds });
    const masked = grpo({ learningRate });
    const arms: [string, Ablated][] = [
      ["GRPO", { policy: start.policy, algorithm: masked }],
      ["GRPO, retrieved tokens not masked", withoutActionMask(start.policy, masked)],
      ["PPO", { policy: start.policy, algorithm: ppo({ learningRate, groupSize: 8 }) }],
    ];
    for (const [arm, ablated] of arms) {
      const { history, seconds } = await start.train(arm, { ...ablated, steps, tasksPerStep: 32 });
      lab.measure(arm, { ...measured(await start.evaluate()), seconds });
      lab.curve(
        arm,
        "success",
        history.map((step) => step["rollout/success"] ?? 0),
      );
      lab.curve(
        arm,
        "searches",
        history.map((step) => step["tool/calls"] ?? 0),
      );
    }
  },
};

/** By the number of hops: how many answers were right, and how many searches were made. */
function measured({ success, rollouts }: EvalReport): Record<string, number> {
  const byHops = (hops: number) => {
    const some = rollouts.filter(({ task }) => hopsOf(task.data) === hops).map(({ trajectories }) => trajectories[0]);
    const mean = (value: (trajectory: (typeof some)[number]) => number) =>
      some.reduce((sum, trajectory) => sum + value(trajectory), 0) / some.length;
    return {
      right: mean(({ score }) => (score.success ? 1 : 0)),
      searches: mean(({ turns }) => turns.reduce((calls, turn) => calls + turn.calls.length, 0)),
    };
  };
  const [one, two] = [byHops(1), byHops(2)];
  return {
    success: success.mean,
    ...{ oneHop: one.right, twoHops: two.right, searchesOne: one.searches, searchesTwo: two.searches },
  };
}

function hopsOf(data: unknown): number {
  return (data as { relations: readonly string[] }).relations.length;
}
