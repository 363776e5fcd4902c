import { type Env, fromScratch, imitate, makeScore, ppo } from "ludus";
import { majorityVote } from "ludus/eval";
import type { Arm, Beginning, Recipe } from "ludus/recipe";
import { answerOf, type ProgramScoring, type ProgramTask, programs, questionOf } from "../programs.ts";
import { reftClaims } from "./claims.ts";

// the paper's settings for programs as chains of thought, apart from learning rate and batch, which are for 0.3M parameters
const published = { gamma: 1, lambda: 0.95, clipLow: 0.2, clipHigh: 0.2, epochs: 2, kl: 0.01, valueCoefficient: 5 };
const questions = 400;
const warmUp = { demonstrations: questions, steps: 320, batchSize: 32, learningRate: 2e-3 };
// twice 64 attempts a step: as many programs as the longer imitation sees beyond the warm-up
const reinforced = { steps: 80, tasksPerStep: 64 };
const votes = 8;

/** 1 for the right answer, 0.1 for any number, else 0 (arXiv 2401.08967). */
export function reftReward({ task, result }: Pick<ProgramScoring, "task" | "result">, partial = 0.1): number {
  const answer = answerOf(result);
  if (answer === "") return 0;
  return answer === `${task.outputs.at(-1)}` ? 1 : partial;
}

const asked = (partial: number): Env<ProgramTask> =>
  programs({
    questions,
    say: (task) => `${task.start}: ${questionOf(task)}`,
    score: (scoring) => {
      const outcome = reftReward(scoring, partial);
      return makeScore({ outcome }, outcome === 1);
    },
  });
const env = asked(0.1);

export const reftRecipe: Recipe = {
  system: "reft",
  title: "ReFT",
  measures: { success: "answered rightly", runs: "gives a number", seconds: "seconds" },
  claims: reftClaims,
  async run(lab) {
    const start = await lab.begin({
      env,
      policy: fromScratch({ size: "tiny", tokenizer: "bytes", valueHead: true }),
      warmStart: imitate(warmUp),
    });
    await lab.arm("warm-up", async (arm) => {
      await start.restore();
      await measure(arm, start, "warm-up");
      arm.measure({ seconds: start.seconds });
    });
    await lab.arm("imitation, longer", async (arm) => {
      const training = { algorithm: ppo(), steps: 0, warmStart: imitate(warmUp) };
      const { seconds } = await start.train("imitation, longer", training);
      await measure(arm, start, "imitation, longer");
      arm.measure({ seconds });
    });
    for (const [name, world] of [
      ["ReFT", env],
      ["ReFT, nothing for any number", asked(0)],
    ] as const) {
      await lab.arm(name, async (arm) => {
        const algorithm = ppo({ ...published, learningRate: 5e-4, groupSize: 2, miniBatches: 2 });
        const { seconds } = await start.train(name, { env: world, algorithm, ...reinforced });
        await measure(arm, start, name);
        arm.measure({ seconds });
      });
    }
  },
};

/** One attempt each, and the answer that most of eight attempts give. */
async function measure(arm: Arm, start: Beginning<ProgramTask>, name: string): Promise<void> {
  const report = await start.evaluate();
  const partly = report.rollouts.filter(({ trajectories }) => (trajectories[0]?.score?.total ?? 0) > 0).length;
  arm.measure({ success: report, runs: partly / Math.max(1, report.rollouts.length) });
  const several = await start.evaluate({ tasks: 100, attempts: votes });
  // the vote is about numbers: different programs may give the same one
  const elected = majorityVote(several, ({ trajectories }) => {
    const answer = trajectories[0]?.turns.at(-1)?.info?.answer;
    return typeof answer === "string" && answer !== "" ? answer : undefined;
  });
  arm.also(`${name}, vote of eight`, { success: elected.mean });
}
