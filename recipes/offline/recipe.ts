import { cosine, fromScratch, imitate } from "ludus";
import { type KeyDoorState, type KeyDoorTask, keyDoor } from "ludus/environments";
import type { Beginning, Recipe } from "ludus/recipe";
import { type RolloutGroup, runGroup } from "ludus/rollout";
import {
  dpo,
  kto,
  type OfflineAlgorithm,
  rejectionTuning,
  stepPairs,
  trainOffline,
  trajectoryPairs,
} from "ludus/train";
import { offlineClaims } from "./claims.ts";

const env = keyDoor({ length: 6 });
const policy = fromScratch({ size: "tiny", tokenizer: "bytes" });
const tasks = 96;
const attempts = 8;
const learningRate = 5e-4;
/** What is not preferred is pushed down, until a margin of 1 / beta or so: with the usual 0.1 so small a model forgets how to act. */
const compared = { learningRate: 2e-4, beta: 1 };

/** All learn from the same attempts of the warm start; `epochs` are so many that the numbers of updates are about the same. */
const arms: readonly { name: string; algorithm: OfflineAlgorithm; epochs: number }[] = [
  { name: "RFT", algorithm: rejectionTuning({ learningRate }), epochs: 4 },
  {
    name: "DPO",
    algorithm: dpo({ ...compared, pairs: (group) => trajectoryPairs(group, { choose: "all" }) }),
    epochs: 1,
  },
  { name: "DPO, turn by turn", algorithm: dpo({ ...compared, pairs: stepPairs }), epochs: 4 },
  { name: "KTO", algorithm: kto(compared), epochs: 2 },
];

export const offline: Recipe = {
  system: "offline",
  title: "RFT, DPO and KTO on the same attempts",
  measures: { success: "solved", turns: "turns", examples: "examples", seconds: "seconds" },
  claims: offlineClaims,
  async run(lab) {
    const warmStart = imitate({ demonstrations: 2000, noise: 0.6, steps: 200, learningRate: cosine(2e-3, 0.1) });
    const start = await lab.begin({ env, policy, warmStart });
    await lab.arm("warm start", async (arm) => {
      await start.restore();
      const report = await start.evaluate();
      arm.measure({ success: report, turns: report.turns, seconds: start.seconds });
    });
    for (const { name, algorithm, epochs } of arms) {
      await lab.arm(name, async (arm) => {
        await start.restore();
        const groups = await attempted(start, lab.seed);
        const before = performance.now();
        const options = { policy: start.policy, groups, algorithm, epochs, seed: lab.seed };
        const { examples } = await trainOffline(options);
        const seconds = (performance.now() - before) / 1000;
        const report = await start.evaluate();
        arm.measure({ success: report, turns: report.turns, examples, seconds });
      });
    }
  },
};

/** The same in every arm of a seed. */
function attempted(
  { policy: speaking }: Beginning<KeyDoorTask, KeyDoorState>,
  seed: number,
): Promise<RolloutGroup<KeyDoorTask>[]> {
  return Promise.all(
    Array.from({ length: tasks }, async (_, index) => {
      const task = await env.tasks.at("train", 20_000 + index);
      return runGroup(env, task, speaking, { id: `own/${index}`, seed: seed * 1000 + index, size: attempts });
    }),
  );
}
