import { cosine, type Env, fromScratch, grpo, imitate } from "ludus";
import { type FunctionCallingTask, functionCalling, toolRlReferenceOf } from "ludus/environments";
import type { Recipe } from "ludus/recipe";
import { type ScoredEpisode, type ToolRlRewardOptions, toolRl } from "ludus/reward";
import { toolRlClaims } from "./claims.ts";

type Calling = Env<FunctionCallingTask, undefined>;

/** Two calls of eight tools in most requests, and no fitting tool in every fifth. */
const world = { seed: 0, tools: 8, twoCallShare: 0.8 };
/** What counts as success for every arm: exactly the calls that were asked for. */
const exact = functionCalling(world);
const learningRate = 3e-4;
const common = { steps: 80, tasksPerStep: 32 };
const granularities = { fine: "fine", intermediate: "intermediate", coarse: "coarse" } as const;

/** The published scorer reads ToolRL's tags: what was said in few words is written out in them. */
function inTags({ turns, answer }: ScoredEpisode): string {
  const calls = (turns[0]?.calls ?? []).map(({ name, arguments: parameters, outcome }) =>
    outcome === "malformed" ? "?" : JSON.stringify({ name, parameters }),
  );
  return [
    "<think></think>",
    ...(calls.length > 0 ? [`<tool_call>\n${calls.join("\n")}\n</tool_call>`] : []),
    ...(answer !== "" ? [`<response>${answer}</response>`] : []),
  ].join("\n");
}

function rewardedBy(granularity: ToolRlRewardOptions<FunctionCallingTask, undefined>["granularity"]) {
  return functionCalling({ ...world, score: toolRl(toolRlReferenceOf, { granularity, text: inTags }) });
}

/** What may stand in place of a call or of a value, by tool and parameter, from requests that nobody is shown. */
async function otherCalls(count: number) {
  const tasks = await Promise.all(Array.from({ length: count }, (_, i) => exact.tasks.at("train", 2_000_000 + i)));
  const calls = tasks.flatMap(({ data }) => data.calls);
  const values = calls.flatMap(({ name, arguments: given }) =>
    Object.entries(given).map(([key, value]) => ({ slot: `${name} ${key}`, value })),
  );
  return { calls, values: Map.groupBy(values, ({ slot }) => slot) };
}

/** The expert of a model that knows what is wanted and is careless: any value may be another one, any call another one. */
async function careless(mistakes: { value: number; call: number }): Promise<Calling> {
  const others = await otherCalls(600);
  return {
    ...exact,
    expert({ task: { calls }, rng }) {
      if (calls.length === 0) return { answer: "no" };
      const said = calls.map(({ name, arguments: given }) => {
        if (rng.next() < mistakes.call) return others.calls[rng.integer(others.calls.length)];
        const entries = Object.entries(given).map(([key, value]) => {
          const known = others.values.get(`${name} ${key}`)!;
          return [key, rng.next() < mistakes.value ? known[rng.integer(known.length)].value : value];
        });
        return { name, arguments: Object.fromEntries(entries) };
      });
      return { calls: said };
    },
  };
}

export const toolRlRecipe: Recipe = {
  system: "tool-rl",
  title: "ToolRL",
  measures: { success: "exact", early: "exact, first half of training", reward: "fine reward", seconds: "seconds" },
  claims: toolRlClaims,
  async run(lab) {
    const demonstrations = 6000;
    const start = await lab.begin({
      env: await careless({ value: 0.25, call: 0.125 }),
      // with bytes, seeds differ in whether words are copied at all
      policy: fromScratch({ size: "tiny", tokenizer: 512 }),
      warmStart: imitate({ demonstrations, steps: 1500, learningRate: cosine(3e-3, 0.1) }),
    });
    const measured = async () => {
      const [onExact, onFine] = [await start.evaluate(), await start.evaluate({ env: rewardedBy("fine") })];
      return { success: onExact, reward: onFine.reward.mean };
    };
    await lab.arm("warm start", async (arm) => arm.measure({ ...(await measured()), seconds: start.seconds }));

    // right demonstrations of as many tasks as the others see, and as many updates
    const sft = {
      ...{ env: exact, algorithm: grpo(), steps: 0 },
      warmStart: imitate({
        ...{ demonstrations: common.steps * common.tasksPerStep, batchSize: 256, steps: common.steps, learningRate },
      }),
    };
    await lab.arm("SFT", async (arm) => {
      const { seconds } = await start.train("SFT", sft);
      arm.measure({ ...(await measured()), seconds });
    });

    const learned = [
      ...Object.entries(granularities).map(([name, granularity]) => {
        return { name: `GRPO, ${name}`, granularity, isAfterSft: false };
      }),
      { name: "GRPO, fine, after SFT", granularity: granularities.fine, isAfterSft: true },
    ];
    for (const { name, granularity, isAfterSft } of learned) {
      await lab.arm(name, async (arm) => {
        await (isAfterSft ? start.train(name, sft) : start.restore());
        const { history, seconds } = await start.trainOn(name, {
          ...{ env: rewardedBy(granularity), algorithm: grpo({ learningRate }), ...common },
        });
        const curve = history.map((step) => step["rollout/success"] ?? 0);
        const half = curve.slice(0, curve.length / 2);
        const early = half.reduce((sum, value) => sum + value, 0) / half.length;
        arm.measure({ ...(await measured()), early, seconds });
        arm.curve("success", curve);
      });
    }
  },
};
