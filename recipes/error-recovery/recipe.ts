import { cosine, defineEnv, type Env, fromScratch, generated, grpo, imitate, z } from "ludus";
import { recoveries, withFailingTools } from "ludus/env";
import type { EvalReport } from "ludus/eval";
import { formats } from "ludus/policy";
import type { Recipe } from "ludus/recipe";
import { errorRecoveryClaims } from "./claims.ts";

interface MetersTask {
  /** Two meters by their letters, and what all of them show. */
  readonly wanted: string;
  readonly shown: string;
}

interface MetersState {
  readonly shown: string;
  /** What was read so far, by meter. */
  readonly read: Record<string, string>;
}

const letters = "abcdef";

/** Two of six meters are to be read, one call each, and what they show is the answer: `bd`, `read b`, `7`, `read d`, `3`, `=73`. */
const meters: Env<MetersTask, MetersState> = defineEnv<MetersTask, MetersState>({
  name: "meters",
  tasks: generated((rng) => {
    const [first, second] = [rng.integer(6), rng.integer(5)];
    const wanted = `${letters[first]}${letters[second < first ? second : second + 1]}`;
    return { wanted, shown: Array.from(letters, () => rng.integer(10)).join("") };
  }),
  start: ({ task }) => ({ state: { shown: task.shown, read: {} }, say: task.wanted }),
  tools: (tool) => ({
    read: tool({
      description: "Reads a meter",
      input: z.object({ meter: z.string() }),
      run({ meter }, { state }) {
        const shown = state.shown[letters.indexOf(meter.slice(0, 1))] ?? "?";
        state.read[meter] = shown;
        return shown;
      },
    }),
  }),
  act: () => ({ done: true }),
  score: ({ task, answer }) => (answer.trim() === answerOf(task) ? 1 : 0),
  expert({ task, state }) {
    const next = [...task.wanted].find((meter) => state.read[meter] === undefined);
    return next === undefined ? { answer: answerOf(task) } : { calls: [{ name: "read", arguments: { meter: next } }] };
  },
  actions: ({ rng }) => [
    ...Array.from(letters, (meter) => ({ calls: [{ name: "read", arguments: { meter } }] })),
    { answer: `${rng.integer(10)}${rng.integer(10)}` },
  ],
  limits: { turns: 8, turnTokens: 10 },
  format: formats.compact(),
});

function answerOf({ wanted, shown }: MetersTask): string {
  return Array.from(wanted, (meter) => shown[letters.indexOf(meter)]).join("");
}

const message = "busy";
const failing = withFailingTools(meters, { rate: 0.3, message });
const rewarded = withFailingTools(meters, { rate: 0.3, message, recoveryReward: 0.2 });
const policy = fromScratch({ size: "tiny", tokenizer: "bytes" });
const common = { algorithm: grpo({ learningRate: 7e-4 }), steps: 150, tasksPerStep: 16 };

export const errorRecovery: Recipe = {
  system: "error-recovery",
  title: "Recovery from calls that fail",
  measures: { success: "right", recovery: "failed calls made good", turns: "turns", seconds: "seconds" },
  claims: errorRecoveryClaims,
  async run(lab) {
    // shown with tools that never fail, so it has never seen what a failure looks like
    const warmStart = imitate({ demonstrations: 6000, noise: 0.1, steps: 1200, learningRate: cosine(3e-3, 0.1) });
    const start = await lab.begin({ env: meters, policy, warmStart });
    const measured = async () => recovered(await start.evaluate({ env: failing }));
    await lab.arm("warm start", async (arm) => {
      await start.restore();
      arm.measure({ ...(await measured()), seconds: start.seconds });
    });
    const arms = { "calls never fail": meters, "calls fail": failing, "calls fail, retries rewarded": rewarded };
    for (const [name, env] of Object.entries(arms)) {
      await lab.arm(name, async (arm) => {
        const { history, seconds } = await start.train(name, { ...common, env });
        arm.measure({ ...(await measured()), seconds });
        arm.curve(
          "success",
          history.map((step) => step["rollout/success"] ?? 0),
        );
      });
    }
  },
};

function recovered(report: EvalReport): Record<string, number | EvalReport> {
  const all = report.rollouts.map(({ trajectories }) =>
    recoveries(
      trajectories.flatMap(({ turns }) => turns),
      message,
    ),
  );
  const sum = (of: "failures" | "recovered") => all.reduce((total, each) => total + each[of], 0);
  return { success: report, recovery: sum("recovered") / Math.max(1, sum("failures")), turns: report.turns };
}
