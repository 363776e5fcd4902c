import { type Algorithm, fromScratch, grpo, imitate, type MakeGuide, metric } from "ludus";
import { goalDials } from "ludus/environments";
import { hindsight } from "ludus/guide";
import type { Recipe } from "ludus/recipe";
import { relabelling } from "ludus/train";
import { hindsightClaims } from "./claims.ts";

// four dials of ten digits: blind turning shows the goal once in ten thousand attempts
const env = goalDials();
const plain = grpo({ groupSize: 4, learningRate: 1e-3 });
const common = { steps: 150, tasksPerStep: 16 };

const { achieved } = env;
const compared = hindsight({ achieved, strategy: "final", compare: true });

const arms: readonly { name: string; algorithm: Algorithm; guide: MakeGuide }[] = [
  { name: "final", algorithm: relabelling(plain), guide: hindsight({ achieved, strategy: "final" }) },
  { name: "future", algorithm: relabelling(plain), guide: hindsight({ achieved, strategy: "future", goals: 4 }) },
  { name: "episode", algorithm: relabelling(plain), guide: hindsight({ achieved, strategy: "episode", goals: 4 }) },
  { name: "importance", algorithm: relabelling(plain, { offPolicy: "importance" }), guide: compared },
  { name: "uncorrected", algorithm: plain, guide: compared },
];

export const hindsightRecipe: Recipe = {
  system: "hindsight",
  title: "Hindsight relabelling",
  measures: { success: "goal reached", reached: "reached in training", seconds: "seconds" },
  claims: hindsightClaims,
  async run(lab) {
    const policy = fromScratch({ size: "tiny", tokenizer: "bytes" });
    // it is shown what a turn looks like and nothing about goals: every digit of a demonstration is drawn
    const warmStart = imitate({ demonstrations: 500, noise: 1, steps: 100, learningRate: 1e-3 });
    const start = await lab.begin({ env, policy, warmStart });
    await lab.arm("warm start", async (arm) => {
      arm.measure({ success: await start.evaluate(), seconds: start.seconds });
    });
    for (const { name, ...config } of [{ name: "plain GRPO", algorithm: plain }, ...arms]) {
      await lab.arm(name, async (arm) => {
        const { history, seconds } = await start.train(name, { ...common, ...config });
        const reached = history.map((step) => step[metric.success] ?? 0);
        arm.measure({ success: await start.evaluate(), seconds });
        arm.measure({ reached: reached.reduce((sum, value) => sum + value, 0) / reached.length });
        arm.curve("reached in training", reached);
      });
    }
  },
};
