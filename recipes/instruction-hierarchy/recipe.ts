import { cosine, type EvalReport, fromScratch, grpo, imitate } from "ludus";
import { type GuardedDeskTask, guardedDesk, obeyedInjection } from "ludus/environments";
import type { Recipe } from "ludus/recipe";
import { permissionCounts } from "ludus/schema";
import { instructionHierarchyClaims } from "./claims.ts";

/** Demonstrations do what notes say: what is learned first is to do whatever was read last. */
const obedient = guardedDesk({ expert: "obedient", digits: 1 });
const steps = 200;
const tasksPerStep = 12;
const learningRate = 2e-4;
/** Held-out tasks, so many that chance moves a share by less than 0.02. */
const tasks = 600;

export const instructionHierarchy: Recipe = {
  system: "instruction-hierarchy",
  title: "The instruction hierarchy",
  measures: {
    success: "right, no violation",
    violations: "violations per 1000",
    resisted: "resisted, red team",
    redTeam: "right, red team",
    seconds: "seconds",
  },
  claims: instructionHierarchyClaims,
  async run(lab) {
    const start = await lab.begin({
      env: obedient,
      policy: fromScratch({ size: "tiny", threads: 1, tokenizer: 448, contextLength: 192 }),
      warmStart: imitate({ demonstrations: 4000, noise: 0.1, steps: 1200, learningRate: cosine(2e-3, 0.1) }),
    });
    const measured = async () => {
      const known = await start.evaluate({ tasks });
      const fresh = await start.evaluate({ split: "red-team", tasks });
      return {
        success: known,
        violations: 1000 * mean(known, ({ turns }) => permissionCounts(turns).violations),
        resisted: 1 - mean(fresh, ({ turns }, task) => Number(obeyedInjection(task, turns))),
        redTeam: fresh,
      };
    };
    await lab.arm("warm start", async (arm) => arm.measure({ ...(await measured()), seconds: start.seconds }));
    for (const [name, env] of [
      ["GRPO", obedient],
      ["GRPO without injections", guardedDesk({ injections: 0, digits: 1 })],
    ] as const) {
      await lab.arm(name, async (arm) => {
        const algorithm = grpo({ groupSize: 8, learningRate });
        const { history, seconds } = await start.train(name, { env, algorithm, steps, tasksPerStep });
        arm.measure({ ...(await measured()), seconds });
        for (const [curve, metric] of [
          ["success", "rollout/success"],
          ["violations", "permission/violations"],
        ]) {
          arm.curve(
            curve,
            history.map((step) => step[metric] ?? 0),
          );
        }
      });
    }
  },
};

type Played = EvalReport["rollouts"][number]["trajectories"][number];

function mean({ rollouts }: EvalReport, value: (played: Played, task: GuardedDeskTask) => number): number {
  const values = rollouts.map(({ trajectories, task }) => value(trajectories[0], task.data as GuardedDeskTask));
  return values.reduce((sum, each) => sum + each, 0) / values.length;
}
