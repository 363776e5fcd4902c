import { cosine, fromScratch, grpo, imitate } from "ludus";
import { type FunctionCallingTask, functionCalling, toolRlReferenceOf } from "ludus/environments";
import type { Recipe } from "ludus/recipe";
import { type ScoredEpisode, type ToolRlRewardOptions, toolRl } from "ludus/reward";

const world = { seed: 0, tools: 4 };
/** What counts as success for every arm: exactly the calls that were asked for. */
const exact = functionCalling(world);
const learningRate = 2e-4;
const common = { steps: 80, tasksPerStep: 64 };
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

export const toolRlRecipe: Recipe = {
  system: "tool-rl",
  title: "ToolRL",
  claim: "GRPO with the fine-grained reward for tool calls beats imitation, and rewards that see less detail",
  measures: { success: "exact", early: "exact, first half of training", reward: "fine reward", seconds: "seconds" },
  compare: [
    { method: "GRPO, fine", baseline: "SFT, as many updates", measure: "success", want: "more" },
    { method: "GRPO, fine", baseline: "GRPO, intermediate", measure: "early", want: "more" },
    { method: "GRPO, fine", baseline: "GRPO, coarse", measure: "early", want: "more" },
    { method: "GRPO, fine", baseline: "warm start", measure: "success", want: "more" },
  ],
  async run(lab) {
    const shown = { demonstrations: 4000, noise: 0.3 };
    const start = await lab.begin({
      env: exact,
      policy: fromScratch({ size: "tiny", tokenizer: "bytes" }),
      warmStart: imitate({ ...shown, steps: 1000, learningRate: cosine(3e-3, 0.1) }),
    });
    const measured = async () => {
      const [onExact, onFine] = [await start.evaluate(), await start.evaluate({ env: rewardedBy("fine") })];
      return { success: onExact.success.mean, reward: onFine.reward.mean };
    };
    lab.measure("warm start", { ...(await measured()), seconds: start.seconds });

    // the same demonstrations, and as many updates as the others get
    const sft = await start.train("SFT, as many updates", {
      ...{ algorithm: grpo(), steps: 0 },
      warmStart: imitate({ ...shown, batchSize: 512, steps: common.steps, learningRate }),
    });
    lab.measure("SFT, as many updates", { ...(await measured()), seconds: sft.seconds });

    for (const [name, granularity] of Object.entries(granularities)) {
      const arm = `GRPO, ${name}`;
      const { history, seconds } = await start.train(arm, {
        ...{ env: rewardedBy(granularity), algorithm: grpo({ learningRate }), ...common },
      });
      const curve = history.map((step) => step["rollout/success"] ?? 0);
      const half = curve.slice(0, curve.length / 2);
      const early = half.reduce((sum, value) => sum + value, 0) / half.length;
      lab.measure(arm, { ...(await measured()), early, seconds });
      lab.curve(arm, "success", curve);
    }
  },
};
