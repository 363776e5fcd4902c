import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  cosine,
  demonstrate,
  fromScratch,
  type GuidedOptions,
  grpo,
  guidance,
  guided,
  type Hint,
  imitate,
  type LearningPolicy,
  metric,
  openRun,
  storedTrajectories,
  trainScorer,
} from "ludus";
import { type HintKind, type LockEnv, lock } from "ludus/environments";
import { bestOfN } from "ludus/eval";
import { lockHints } from "ludus/guide";
import type { Arm, Beginning, Recipe } from "ludus/recipe";
import { agentRlvrClaims } from "./claims.ts";

// a code of four digits: one blind try in ten thousand opens the lock. Each digit is that of the serial number plus 3
const env = lock({ digits: 4 });
const plain = grpo({ groupSize: 4, learningRate: 5e-4 });
const common = { steps: 1000, tasksPerStep: 16 };

const stripped: GuidedOptions = { condition: "stripped", offPolicy: "imitate" };
const allKinds: readonly HintKind[] = ["plan", "feedback", "environment"];

/** What is learned from attempts with a hint the paper leaves open: without the hint before it, as here, or as in the last two. */
const arms: readonly { name: string; kinds: readonly HintKind[]; learn: GuidedOptions }[] = [
  { name: "guided", kinds: allKinds, learn: stripped },
  { name: "plans", kinds: ["plan"], learn: stripped },
  { name: "feedback", kinds: ["feedback"], learn: stripped },
  { name: "hints", kinds: ["environment"], learn: stripped },
  { name: "guided, in context", kinds: allKinds, learn: { condition: "context" } },
  { name: "guided, importance", kinds: allKinds, learn: { condition: "stripped", offPolicy: "importance" } },
];

export const agentRlvr: Recipe = {
  system: "agent-rlvr",
  title: "Agent-RLVR",
  measures: {
    success: "opened, no hint",
    guided: "opened in training, hint",
    signal: "tasks with a success",
    seconds: "seconds",
  },
  claims: agentRlvrClaims,
  async run(lab) {
    const policy = fromScratch({ size: "tiny", tokenizer: "bytes", valueHead: true });
    const speaker = await policy(env, lab.seed);
    const demonstrations = await shownHints(speaker, lab.seed);
    // a code is copied after 600 steps; adding to its digits takes more
    const warmStart = imitate({ demonstrations, steps: 3000, learningRate: cosine(3e-3, 0.1) });
    const start = await lab.begin({ env, policy, warmStart });
    await lab.arm("warm start", async (arm) => {
      arm.measure({ success: await start.evaluate(), seconds: start.seconds });
    });
    await lab.arm("plain GRPO", async (arm) => {
      const { history, seconds } = await start.train("plain GRPO", { algorithm: plain, ...common });
      const signal = 1 - meanOf(history, metric.uniformFail);
      arm.measure({ success: await start.evaluate(), signal, seconds });
    });
    for (const member of arms) await lab.arm(member.name, (arm) => runArm(arm, start, member));
    await speaker.engine.close();
  },
};

async function runArm<Data, State>(
  arm: Arm,
  start: Beginning<Data, State>,
  { name, kinds, learn }: (typeof arms)[number],
) {
  const folder = await mkdtemp(join(tmpdir(), "ludus-guided-"));
  try {
    const { history, seconds } = await start.train(name, {
      ...{ ...common, algorithm: guided(plain, learn), run: join(folder, "run") },
      guide: guidance({ hints: lockHints(env, { kinds }) }),
    });
    arm.measure({ success: await start.evaluate(), seconds });
    arm.measure({ guided: meanOf(history, "guidance/success"), signal: meanOf(history, "guidance/signal") });
    for (const [curve, key] of [
      ["success without hint", "guidance/success-without"],
      ["success with hint", "guidance/success"],
    ]) {
      arm.curve(
        curve,
        history.map((step) => step[key] ?? 0),
      );
    }
    if (name === arms[0].name) await chooseOfEight(arm, start, join(folder, "run"));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Over the steps that tell it. */
function meanOf(history: readonly Readonly<Record<string, number>>[], key: string): number {
  const values = history.map((step) => step[key]).filter((value) => value !== undefined);
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}

/** The same attempts train a scorer, which chooses one of eight; at temperature 1 all eight are right or all are wrong. */
async function chooseOfEight<Data, State>(arm: Arm, start: Beginning<Data, State>, folder: string): Promise<void> {
  const report = await start.evaluate({ tasks: 100, attempts: 8, temperature: 1.5 });
  const run = await openRun(folder, { readOnly: true });
  try {
    const { score } = await trainScorer(start.policy, storedTrajectories(run));
    arm.also("guided, best of eight", { success: (await bestOfN(report, score)).mean });
    arm.also("guided, mean of eight", { success: report.success.mean });
  } finally {
    await run.close();
  }
}

/**
 * What a pretrained model would bring along: it can follow each kind of hint, shown on locks whose codes have nothing to do with
 * their serial numbers, and without a hint, one time in five, it says some code. Plans are shown on locks with three shifts: of nine
 * none was learned, for then a digit alone says nothing about the one it becomes.
 */
async function shownHints(policy: LearningPolicy, seed: number) {
  const locks: LockEnv[] = [1, 3, 6].map((shift) => lock({ digits: 4, shift, seed: shift }));
  const other = lock({ digits: 4, secret: "random", seed: 99 });
  const shown = Array.from({ length: 30_000 }, async (_, i) => {
    const isHinted = i % 5 !== 0;
    // plans are harder to follow than the others: two of three hints
    const kind = (["plan", "feedback", "plan", "environment", "plan", "plan"] as const)[i % 6];
    const world = isHinted && kind === "plan" ? locks[i % locks.length] : other;
    const task = await world.tasks.at("train", i);
    // a last try that has some digits right, so that feedback has something to tell
    const lastTry = [...task.data.code].map((digit, at) => ((i >> at) % 2 === 0 ? digit : "x")).join("");
    const hint: Hint = { kind, text: world.hints({ task: task.data, lastTry })[kind] };
    const options = { id: `show/${i}`, seed: seed * 10_000 + i };
    return (await demonstrate(world, isHinted ? { ...task, annotations: { hint } } : task, policy, options))
      .trajectories;
  });
  return (await Promise.all(shown)).flat();
}
