import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Algorithm, type EvalReport, fromScratch, imitate, makeScore, remax, type Trajectory } from "ludus";
import { codeRlCredit } from "ludus/credit";
import type { Beginning, Lab, Recipe } from "ludus/recipe";
import { codeRlReturns, outcomeOf, type ProgramTask, programOf, programs } from "../programs.ts";
import { from } from "../tasks.ts";
import { codeRlClaims } from "./claims.ts";
import { type Critic, outcomeAlone, outcomeCritic, outcomeIndex } from "./critic.ts";
import { criticSampling, plainSampling } from "./sampling.ts";

/** Tasks that have a reference program; tests there are for all. */
const solved = 400;
const score = ({ result, task }: Parameters<Parameters<typeof programs>[0]["score"]>[0]) => {
  const outcome = outcomeOf(result, task);
  return makeScore({ outcome: codeRlReturns[outcome] }, outcome === 3);
};
const env = programs({ score });
const known = programs({ questions: solved, score });

const warmUp = { demonstrations: solved, steps: 320, batchSize: 32, learningRate: 2e-3 };
/** Reinforcement and imitation alternate. */
const rounds = 6;
const stepsOfRound = 8;
const tasksPerStep = 32;
const settings = { groupSize: 4, learningRate: 7e-4 };
const learning = { epochs: 2, learningRate: 1e-3 };
const samples = 8;
/** Tasks from here on are neither imitated nor reinforced. */
const unseen = 100_000;

export const codeRl: Recipe = {
  system: "code-rl",
  title: "CodeRL",
  measures: { success: "right", drop: "fall of the critic's word", seconds: "seconds" },
  claims: codeRlClaims,
  async run(lab) {
    const policy = fromScratch({ size: "tiny", tokenizer: "bytes" });
    const start = await lab.begin({ env: known, policy, warmStart: imitate(warmUp) });
    // an arm begins with loading weights, which would drop the critic's: it has an engine of its own
    const bench = await lab.begin({ env: known, policy });
    const critic = await trainCritic(lab, start, bench);
    await lab.arm("warm start", async (arm) => {
      await start.restore();
      arm.measure({ success: await start.evaluate({ env }), seconds: start.seconds });
      const report = await start.evaluate({ env, tasks: 100, attempts: samples });
      const tools = { policy: start.policy, critic, signal: lab.signal };
      arm.also("plain sampling", { success: await plainSampling(report, lab.signal) });
      arm.also("critic sampling", { success: await criticSampling(report, tools) });
      const { at, elsewhere } = await dropsOf(report, critic);
      arm.also("critic, at the mistake", { drop: at });
      arm.also("critic, elsewhere", { drop: elsewhere });
    });
    const weighed: Algorithm = { ...remax(settings), credit: codeRlCredit(), weigh: weigh(critic) };
    for (const [name, algorithm] of [
      ["imitation", undefined],
      ["same return for every token", remax(settings)],
      ["critic-weighted", weighed],
    ] as const) {
      await lab.arm(name, async (arm) => {
        const seconds = await alternate(start, name, algorithm);
        arm.measure({ success: await start.evaluate({ env }), seconds });
      });
    }
  },
};

type Start = Beginning<ProgramTask>;

/** Begins with the policy's weights and learns from what the policy writes, before it is reinforced. */
async function trainCritic(lab: Lab, start: Start, bench: Start): Promise<Critic> {
  const folder = await mkdtemp(join(tmpdir(), "ludus-critic-"));
  try {
    await start.restore();
    await start.policy.engine.save(folder);
    await bench.policy.engine.load(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
  const { rollouts } = await start.evaluate({
    env: from(env, unseen),
    split: "train",
    tasks: 500,
    attempts: 4,
    seed: 7,
  });
  const critic = outcomeCritic(bench.policy.engine);
  const attempts = rollouts.flatMap(({ trajectories }) => trajectories).filter((each) => outcomeIndex(each) >= 0);
  await critic.learn(attempts, { ...learning, seed: lab.seed });
  return critic;
}

/** The critic's probability of what a program came to, after each of its tokens. */
function weigh(critic: Critic) {
  return async (trajectories: readonly Trajectory[]) => {
    const shares = await critic.probabilities(trajectories);
    return trajectories.map((each, i) => outcomeAlone(shares[i]!, outcomeIndex(each)));
  };
}

/** Rounds of reinforcement, where there is an algorithm, and of imitation of the references. */
async function alternate(start: Start, name: string, algorithm: Algorithm | undefined): Promise<number> {
  let seconds = 0;
  await start.restore();
  for (let round = 0; round < rounds; round++) {
    const reinforced = {
      env: from(env, solved + round * stepsOfRound * tasksPerStep),
      steps: stepsOfRound,
      tasksPerStep,
    };
    if (algorithm !== undefined) seconds += (await start.trainOn(name, { algorithm, ...reinforced })).seconds;
    const warmStart = imitate({ ...warmUp, steps: stepsOfRound, learningRate: settings.learningRate });
    seconds += (await start.trainOn(name, { algorithm: remax(), steps: 0, warmStart })).seconds;
  }
  return seconds;
}

/** How far the critic's word for success falls at a digit or sign that is replaced in a right program, and on average at its other tokens. */
async function dropsOf({ rollouts }: EvalReport, critic: Critic): Promise<{ at: number; elsewhere: number }> {
  const rights = rollouts.flatMap(({ trajectories, task }) =>
    trajectories.filter(({ turns }) => turns[0]?.text === programOf(task.data as ProgramTask)).slice(0, 1),
  );
  const spoilt = rights.slice(0, 200).flatMap((each, i) => spoil(each, i) ?? []);
  const words = (await critic.probabilities(spoilt)).map((shares) => outcomeAlone(shares, 3));
  let [at, elsewhere, others] = [0, 0, 0];
  for (const [i, { mistake, mask_T }] of spoilt.entries()) {
    const first = mask_T.indexOf(1);
    for (let t = first + 1; t < mask_T.length && mask_T[t] === 1; t++) {
      const fall = words[i]![t - 1]! - words[i]![t]!;
      if (t === mistake) at += fall;
      else [elsewhere, others] = [elsewhere + fall, others + 1];
    }
  }
  return { at: at / Math.max(1, spoilt.length), elsewhere: elsewhere / Math.max(1, others) };
}

/** Another digit, or plus for minus: the ids of bytes are the bytes. */
function spoil(
  { tokens_T, mask_T }: Trajectory,
  number: number,
): (Pick<Trajectory, "tokens_T" | "mask_T"> & { mistake: number }) | undefined {
  const first = mask_T.indexOf(1);
  const places = [...mask_T.keys()].filter(
    (t) => t > first && mask_T[t] === 1 && /[2-9+-]/.test(String.fromCharCode(tokens_T[t]!)),
  );
  const mistake = places[number % Math.max(1, places.length)];
  if (mistake === undefined) return undefined;
  const was = String.fromCharCode(tokens_T[mistake]!);
  const other = was === "+" ? "-" : was === "-" ? "+" : `${2 + ((Number(was) - 1) % 8)}`;
  return { tokens_T: tokens_T.with(mistake, other.charCodeAt(0)), mask_T, mistake };
}
