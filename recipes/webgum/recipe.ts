import { cosine, type EvalReport, fromScratch, grpo, imitate } from "ludus";
import { type PicturedPageTask, picturedPage } from "ludus/environments";
import type { Recipe } from "ludus/recipe";
import { webGumClaims } from "./claims.ts";

const arms = [
  ["text", "text"],
  ["text and bitmap", "both"],
  ["text and blank bitmap", "blank"],
  ["bitmap", "bitmap"],
] as const;
const policy = fromScratch({ size: "tiny", threads: 1, tokenizer: "bytes", contextLength: 96 });
const warmStart = imitate({ demonstrations: 4000, steps: 220, learningRate: cosine(1e-3, 0.1) });
/** Held-out tasks, half of them open. */
const tasks = 400;

export const webGum: Recipe = {
  system: "webgum",
  title: "WebGUM",
  measures: { success: "right", open: "right, open by text", told: "right, told by text", seconds: "seconds" },
  claims: webGumClaims,
  async run(lab) {
    for (const [name, view] of arms) {
      await lab.arm(name, async (arm) => {
        const start = await lab.begin({ env: picturedPage({ view }), policy });
        const { seconds } = await start.train(name, { warmStart, algorithm: grpo(), steps: 0 });
        const report = await start.evaluate({ tasks, temperature: 0 });
        arm.measure({ success: report, open: share(report, true), told: share(report, false), seconds });
      });
    }
  },
};

/** Of the tasks that the text leaves open, or of those that it tells. */
function share({ rollouts }: EvalReport, isOpen: boolean): number {
  const those = rollouts.filter(({ task }) => (task.data as PicturedPageTask).isOpen === isOpen);
  return those.filter(({ trajectories }) => trajectories[0].score.success).length / those.length;
}
