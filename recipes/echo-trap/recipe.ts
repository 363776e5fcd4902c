import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fromScratch, imitate, type Monitor, metric, starpo, starpoS } from "ludus";
import { bandit } from "ludus/environments";
import type { Arm, Recipe, Trained } from "ludus/recipe";
import { trainWithRemedies } from "ludus/train";
import { echoTrapClaims } from "./claims.ts";

// RAGEN's bandit, with the settings of recipes/ragen: StarPO solves it within 50 steps and loses it again within 400
const env = bandit();
const learningRate = 1.5e-3;
const common = { algorithm: starpo({ learningRate }), steps: 400, tasksPerStep: 8, save: { every: 5, retain: 100 } };
const window = 20;
const ways = { switched: "before", "switched, not gone back": "here" } as const;

export const echoTrap: Recipe = {
  system: "echo-trap",
  title: "The echo trap: seen by the doctor, and left",
  measures: {
    success: "right",
    best: "best in training",
    lost: "lost of its best",
    foundAt: "switched after steps",
    seconds: "seconds",
  },
  claims: echoTrapClaims,
  async run(lab) {
    const start = await lab.begin({
      env,
      policy: fromScratch({ size: "tiny", tokenizer: "bytes", valueHead: true }),
      warmStart: imitate({ demonstrations: 200, noise: 1, steps: 40, learningRate: 2e-3 }),
    });
    await lab.arm("left alone", async (arm) => {
      const { history, seconds } = await start.train("left alone", common);
      arm.measure({ success: await start.evaluate({ split: "train" }), ...kept(arm, history), seconds });
    });
    for (const [name, from] of Object.entries(ways)) {
      await lab.arm(name, async (arm) => {
        const folder = await mkdtemp(join(tmpdir(), "ludus-echo-trap-"));
        try {
          await start.restore();
          const history: Readonly<Record<string, number>>[] = [];
          const monitors: Monitor[] = [
            { name: "recipe", record: (event) => void (event.type === "step-end" && history.push(event.metrics)) },
          ];
          const run = join(folder, "run");
          const { switches, seconds } = await trainWithRemedies(
            { ...common, env, policy: start.policy, run, monitors, ...{ seed: lab.seed, signal: lab.signal } },
            { remedies: { "echo-trap": starpoS({ learningRate }) }, from },
          );
          lab.signal.throwIfAborted();
          const after = history.length - (switches.length === 0 ? 0 : common.steps - switches[0]!.step - 1);
          arm.measure({
            success: await start.evaluate({ split: "train" }),
            ...kept(arm, history),
            foundAt: after,
            seconds,
          });
        } finally {
          await rm(folder, { recursive: true, force: true });
        }
      });
    }
  },
};

/** The best mean success of twenty steps, and the share of it that the last twenty lack. */
function kept(arm: Arm, history: Trained["history"]): Record<string, number> {
  const success = history.map((step) => step[metric.success] ?? 0);
  arm.curve("success", success);
  const wide = Math.min(window, success.length);
  const means = success.slice(wide - 1).map((_, i) => success.slice(i, i + wide).reduce((sum, x) => sum + x, 0) / wide);
  const best = Math.max(...means);
  return { best, lost: best === 0 ? 0 : (best - means.at(-1)!) / best, foundAt: success.length };
}
