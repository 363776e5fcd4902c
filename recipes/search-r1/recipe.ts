import { cosine, type EvalReport, fromScratch, grpo, imitate, ppo } from "ludus";
import { searchQa } from "ludus/environments";
import { type Ablated, type Arm, type Lab, type Recipe, type Trained, withoutActionMask } from "ludus/recipe";
import { searchR1Claims } from "./claims.ts";

// questions of one or two hops, each over knowledge of its own; the reward is exact match of the answer and nothing else
const world = { entities: 40, maxHops: 2, kb: "per-task" } as const;
const env = searchQa(world);
const policy = fromScratch({ size: "tiny", tokenizer: 320, valueHead: true });
const learningRate = 5e-4;
const steps = 60;

export const searchR1: Recipe = {
  system: "search-r1",
  title: "Search-R1 and ReSearch",
  measures: {
    success: "right",
    early: "right, first half of training",
    oneHop: "right, 1 hop",
    twoHops: "right, 2 hops",
    searchesOne: "searches, 1 hop",
    searchesTwo: "searches, 2 hops",
    seconds: "seconds",
  },
  claims: searchR1Claims,
  async run(lab) {
    const shown = { demonstrations: 6000, steps: 900, learningRate: cosine(3e-3, 0.1) };
    await lab.arm("RAG", async (arm) => {
      const rag = await lab.begin({
        ...{ env: searchQa({ ...world, retrieve: "twice", passages: 3 }), policy },
        warmStart: imitate(shown),
      });
      arm.measure({ ...measured(await rag.evaluate()), seconds: rag.seconds });
    });
    const start = await lab.begin({ env, policy, warmStart: imitate({ ...shown, noise: 0.45 }) });
    await lab.arm("warm start", async (arm) => {
      arm.measure({ ...measured(await start.evaluate()), seconds: start.seconds });
    });
    await reSearch(lab);
    const masked = grpo({ learningRate });
    const arms: [string, Ablated][] = [
      ["GRPO", { policy: start.policy, algorithm: masked }],
      ["GRPO, retrieved tokens not masked", withoutActionMask(start.policy, masked)],
      ["PPO", { policy: start.policy, algorithm: ppo({ learningRate, groupSize: 8 }) }],
    ];
    for (const [name, ablated] of arms) {
      await lab.arm(name, async (arm) => {
        const { history, seconds } = await start.train(name, { ...ablated, steps, tasksPerStep: 32 });
        const half = history.slice(0, history.length / 2).map((step) => step["rollout/success"] ?? 0);
        const early = half.reduce((sum, value) => sum + value, 0) / half.length;
        arm.measure({ ...measured(await start.evaluate()), early, seconds });
        keepCurves(arm, history);
      });
    }
  },
};

/**
 * ReSearch: no demonstration of a search that follows from its question. The start has read actions drawn at random, each turn one of
 * those that can be written, so that it knows the format; then F1 with a format reward, from which it has to learn all else.
 */
async function reSearch(lab: Lab): Promise<void> {
  const start = await lab.begin({
    env: searchQa({ ...world, reward: "f1-format" }),
    policy,
    warmStart: imitate({ demonstrations: 6000, noise: 1, steps: 900, learningRate: cosine(3e-3, 0.1) }),
  });
  await lab.arm("start of ReSearch", async (arm) => {
    arm.measure({ ...measured(await start.evaluate()), seconds: start.seconds });
  });
  await lab.arm("ReSearch", async (arm) => {
    const { history, seconds } = await start.train("ReSearch", {
      ...{ algorithm: grpo({ learningRate, kl: 0.001 }), steps: 2 * steps, tasksPerStep: 32 },
    });
    arm.measure({ ...measured(await start.evaluate()), seconds });
    keepCurves(arm, history);
  });
}

function keepCurves(arm: Arm, history: Trained["history"]): void {
  for (const [curve, metric] of [
    ["success", "rollout/success"],
    ["searches", "tool/calls"],
  ]) {
    arm.curve(
      curve,
      history.map((step) => step[metric] ?? 0),
    );
  }
}

/** By the number of hops: how many answers were right, and how many searches were made. */
function measured(report: EvalReport): Record<string, number | EvalReport> {
  const byHops = (hops: number) => {
    const some = report.rollouts
      .filter(({ task }) => hopsOf(task.data) === hops)
      .map(({ trajectories }) => trajectories[0]);
    const mean = (value: (trajectory: (typeof some)[number]) => number) =>
      some.reduce((sum, trajectory) => sum + value(trajectory), 0) / some.length;
    return {
      right: mean(({ score }) => (score.success ? 1 : 0)),
      searches: mean(({ turns }) => turns.reduce((calls, turn) => calls + turn.calls.length, 0)),
    };
  };
  const [one, two] = [byHops(1), byHops(2)];
  return {
    success: report,
    ...{ oneHop: one.right, twoHops: two.right, searchesOne: one.searches, searchesTwo: two.searches },
  };
}

function hopsOf(data: unknown): number {
  return (data as { relations: readonly string[] }).relations.length;
}
