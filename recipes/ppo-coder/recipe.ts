import { cosine, type Env, fromScratch, imitate, makeScore, ppo } from "ludus";
import { adaptiveKl } from "ludus/loss";
import type { Arm, Beginning, Recipe } from "ludus/recipe";
import {
  codeRlReturns,
  evaluator,
  functionOf,
  isRight,
  outcomeOf,
  type ProgramScoring,
  type ProgramTask,
  programOf,
  programs,
} from "../programs.ts";
import { ppoCoderClaims } from "./claims.ts";
import { matchExpression, matchProgram } from "./match.ts";

/** +1 where the program compiles, −1 where it does not. */
export const compiled = ({ result }: Pick<ProgramScoring, "result">): number =>
  result.kind === "not-compiled" ? -1 : 1;

/** CodeRL's four levels, for synthesis: compile error, runtime error, failed test, passed. */
export function tested({ result, task }: Pick<ProgramScoring, "result" | "task">): number {
  return codeRlReturns[outcomeOf(result, task)]!;
}

async function matches({ program, task, signal }: ProgramScoring): Promise<{ trees: number; flow: number }> {
  if (program === programOf(task)) return { trees: 1, flow: 1 };
  const expression = matchExpression(functionOf(program), functionOf(programOf(task)));
  const found = await evaluator().evaluate(matchProgram, expression, signal);
  const [trees, flow] = found.kind === "value" && Array.isArray(found.value) ? found.value : [0, 0];
  return { trees, flow };
}

type Part = (scoring: ProgramScoring) => number;
const world = (part: Part, isMatched: boolean): Env<ProgramTask> =>
  programs({
    score: async (scoring) => {
      const parts = { outcome: part(scoring), ...(isMatched ? await matches(scoring) : {}) };
      return makeScore(parts, isRight(scoring.result, scoring.task));
    },
  });

/** What evaluations are made in: everything is told, whatever was learned from. */
const judged = world(compiled, true);

// the published settings: top-k 5, γ 1, λ 0.95, clip 0.2, value coefficient 1e-3, KL 0.1 towards 1; the rate is for 0.3M parameters
const published = { lambda: 0.95, clipLow: 0.2, clipHigh: 0.2, valueCoefficient: 1e-3, topK: 5 };
const settings = { ...published, groupSize: 4, learningRate: 5e-4, miniBatches: 2 };
const kl = adaptiveKl({ initial: 0.1, target: 1, horizon: 10_000 });
const common = { steps: 30, tasksPerStep: 32 };

export const ppoCoder: Recipe = {
  system: "ppo-coder",
  title: "PPOCoder",
  measures: {
    success: "right",
    compiles: "compiles",
    trees: "trees matched",
    flow: "flow matched",
    seconds: "seconds",
  },
  claims: ppoCoderClaims,
  async run(lab) {
    const start = await lab.begin({
      env: judged,
      policy: fromScratch({ size: "tiny", tokenizer: "bytes", valueHead: true }),
      warmStart: imitate({ demonstrations: 3000, noise: 0.4, steps: 250, learningRate: cosine(3e-3, 0.1) }),
    });
    await lab.arm("imitation", async (arm) => {
      await start.restore();
      await measure(arm, start);
      arm.measure({ seconds: start.seconds });
    });
    for (const [name, env, penalty] of [
      ["compiler", world(compiled, false), kl],
      ["compiler, trees and data flow", world(compiled, true), kl],
      ["compiler, trees and data flow, no KL", world(compiled, true), 0],
      ["tests, trees and data flow", world(tested, true), kl],
    ] as const) {
      await lab.arm(name, async (arm) => {
        const { seconds } = await start.train(name, { env, algorithm: ppo({ ...settings, kl: penalty }), ...common });
        await measure(arm, start);
        arm.measure({ seconds });
      });
    }
  },
};

async function measure(arm: Arm, start: Beginning<ProgramTask>): Promise<void> {
  const report = await start.evaluate({ env: judged });
  const scores = report.rollouts.flatMap(({ trajectories }) =>
    trajectories.slice(0, 1).map(({ score }) => score.parts),
  );
  const mean = (part: string) =>
    scores.reduce((sum, parts) => sum + (parts[part] ?? 0), 0) / Math.max(1, scores.length);
  arm.measure({ success: report, compiles: (1 + mean("outcome")) / 2, trees: mean("trees"), flow: mean("flow") });
}
