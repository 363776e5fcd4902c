import { type Algorithm, cosine, type EvalReport, fromScratch, grpo, imitate, ppo, reinforcePlusPlus } from "ludus";
import { searchQa } from "ludus/environments";
import { type Ablated, type Recipe, withoutActionMask, withoutAdvantageMask } from "ludus/recipe";
import { agentR1Claims } from "./claims.ts";

// each question has a knowledge base of its own: nothing can be learned by heart
const world = { entities: 40, minHops: 2, maxHops: 2, kb: "per-task" } as const;
const env = searchQa(world);
const policy = fromScratch({ size: "tiny", tokenizer: 320, valueHead: true });
// PPO makes two updates of a batch, the others one
const learningRate = { ppo: 3e-4, others: 5e-4 };
const common = { steps: 45, tasksPerStep: 32 };
// below 1, credit fades with every token it runs through: this is where an advantage mask can matter
const lambda = 0.95;

export const agentR1: Recipe = {
  system: "agent-r1",
  title: "Agent-R1",
  measures: { success: "right", turns: "turns", tokens: "tokens said", seconds: "seconds" },
  claims: agentR1Claims,
  async run(lab) {
    const start = await lab.begin({
      ...{ env, policy },
      warmStart: imitate({ demonstrations: 6000, noise: 0.3, steps: 900, learningRate: cosine(3e-3, 0.1) }),
    });
    await lab.arm("tool calls, not trained", async (arm) => {
      await start.restore();
      arm.measure({ ...measured(await start.evaluate()), seconds: start.seconds });
    });

    const clipped = ppo({ learningRate: learningRate.ppo, groupSize: 8, lambda, epochs: 1, miniBatches: 2 });
    const algorithms: Readonly<Record<string, Algorithm>> = {
      PPO: clipped,
      GRPO: grpo({ learningRate: learningRate.others }),
      "REINFORCE++": reinforcePlusPlus({ learningRate: learningRate.others, groupSize: 8 }),
    };
    const arms = Object.entries(algorithms).flatMap(([name, algorithm]): [string, Ablated][] => [
      [name, { policy: start.policy, algorithm }],
      [`${name} without action mask`, withoutActionMask(start.policy, algorithm)],
      [`${name} without advantage mask`, withoutAdvantageMask(start.policy, algorithm)],
    ]);
    for (const [name, ablated] of arms) {
      await lab.arm(name, async (arm) => {
        const { history, seconds } = await start.train(name, { ...ablated, ...common });
        arm.measure({ ...measured(await start.evaluate()), seconds });
        for (const curve of ["success", "turns"]) {
          arm.curve(
            curve,
            history.map((step) => step[`rollout/${curve}`] ?? 0),
          );
        }
      });
    }
    await lab.arm("RAG", async (arm) => {
      // as many demonstrations and steps as the model that calls tools has
      const rag = await lab.begin({
        env: searchQa({ ...world, retrieve: "twice", passages: 3 }),
        policy,
        warmStart: imitate({ demonstrations: 6000, steps: 900, learningRate: cosine(3e-3, 0.1) }),
      });
      arm.measure({ ...measured(await rag.evaluate()), seconds: rag.seconds });
    });
  },
};

function measured(report: EvalReport): Record<string, number | EvalReport> {
  return { success: report, turns: report.turns, tokens: report.sampledTokens };
}
