import { setTimeout } from "node:timers/promises";
import { areal, cosine, type Env, fromScratch, imitate } from "ludus";
import { type LockState, type LockTask, lock } from "ludus/environments";
import type { Recipe } from "ludus/recipe";
import { arealClaims } from "./claims.ts";

const [tasksPerStep, groupSize, steps] = [8, 8, 60];
/** Of the lock, log-normal: the slowest of the 64 attempts of a step takes about ten times the median. */
const [medianMs, sigma] = [20, 1];
const learningRate = cosine(1e-3, 0.05);
const policy = fromScratch({ size: "tiny", threads: 1, tokenizer: "bytes", contextLength: 64 });
const warmStart = imitate({ demonstrations: 4000, noise: 0.4, steps: 500, batchSize: 64, learningRate: 3e-3 });

interface ArmSettings {
  readonly staleness: number;
  readonly decoupled: boolean;
  readonly interrupt?: "wait";
}

const bounded = [1, 4, 16].flatMap((staleness) => [
  [`naive, staleness ${staleness}`, { staleness, decoupled: false }] as const,
  [`decoupled, staleness ${staleness}`, { staleness, decoupled: true }] as const,
]);
const arms: readonly (readonly [string, ArmSettings])[] = [
  // both losses are the same there
  ["staleness 0", { staleness: 0, decoupled: true }],
  ...bounded,
  ["naive, unbounded", { staleness: Number.POSITIVE_INFINITY, decoupled: false }],
  ["decoupled, unbounded", { staleness: Number.POSITIVE_INFINITY, decoupled: true }],
  ["decoupled, staleness 4, uninterrupted", { staleness: 4, decoupled: true, interrupt: "wait" }],
];

export const arealRecipe: Recipe = {
  system: "areal",
  title: "AReaL: staleness by decoupled and naive PPO",
  measures: { success: "opened", rate: "rollouts/s", age: "age of tokens, steps", seconds: "seconds" },
  claims: arealClaims,
  async run(lab) {
    const env = slow(lock({ digits: 4, base: 5 }), lab.seed);
    const start = await lab.begin({ env, policy, warmStart });
    await lab.arm("warm start", async (arm) => {
      await start.restore();
      arm.measure({ success: await start.evaluate(), seconds: start.seconds });
    });
    for (const [name, { decoupled, ...async }] of arms) {
      await lab.arm(name, async (arm) => {
        const algorithm = areal({ groupSize, learningRate, miniBatches: 4, decoupled });
        const { seconds, history } = await start.train(name, { algorithm, async, steps, tasksPerStep });
        const ages = history.map((step) => step["async/staleness-mean"] ?? 0);
        arm.measure({
          success: await start.evaluate(),
          rate: (steps * tasksPerStep * groupSize) / seconds,
          age: ages.reduce((sum, age) => sum + age, 0) / ages.length,
          seconds,
        });
        arm.curve(
          "success",
          history.map((step) => step["rollout/success"] ?? 0),
        );
      });
    }
  },
};

/** The same lock, which takes its time to say whether it opens. */
function slow(env: Env<LockTask, LockState>, seed: number): Env<LockTask, LockState> {
  const normal = normals(seed);
  return {
    ...env,
    async act(context) {
      await setTimeout(medianMs * Math.exp(sigma * normal()));
      return env.act!(context);
    },
  };
}

/** Standard normal numbers: times alone depend on them. */
function normals(seed: number): () => number {
  let state = seed + 1;
  const uniform = () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
  return () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
}
