import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  cosine,
  createRng,
  demonstrate,
  dpo,
  fromScratch,
  grpo,
  guidance,
  guided,
  guidedPairs,
  imitate,
  type LearningPolicy,
  metric,
  openRun,
  storedTrajectories,
  trainOffline,
  trainScorer,
} from "ludus";
import { bestOfN } from "ludus/eval";
import type { Arm, Beginning, Recipe } from "ludus/recipe";
import { agentRlvrCodeClaims } from "./claims.ts";
import {
  following,
  type HintKind,
  hintFor,
  hintKinds,
  type RepositoryTask,
  repositoryHints,
  smallRepositories,
} from "./world.ts";

const env = smallRepositories();
/** Where hints are shown: nothing but the hint tells which file to change. */
const strange = smallRepositories({ isStrange: true, seed: 1 });
const plain = grpo({ groupSize: 4, learningRate: 1e-3 });
const common = { steps: 300, tasksPerStep: 12 };

type Start = Beginning<RepositoryTask, undefined>;

const arms: readonly { name: string; kinds: readonly HintKind[] }[] = [
  { name: "guided", kinds: hintKinds },
  { name: "plans", kinds: ["plan"] },
  { name: "feedback", kinds: ["feedback"] },
  { name: "hints", kinds: ["environment"] },
];

export const agentRlvrCode: Recipe = {
  system: "agent-rlvr-code",
  title: "Agent-RLVR on repositories",
  measures: {
    success: "fixed, no hint",
    guided: "fixed in training, hint",
    signal: "tasks with a success",
    seconds: "seconds",
  },
  claims: agentRlvrCodeClaims,
  async run(lab) {
    const policy = fromScratch({ size: "tiny", tokenizer: "bytes", valueHead: true });
    const speaker = await policy(env, lab.seed);
    const demonstrations = await shownHints(speaker, lab.seed);
    await speaker.engine.close();
    const warmStart = imitate({ demonstrations, steps: 800, learningRate: cosine(3e-3, 0.1) });
    const start = await lab.begin({ env, policy, warmStart });
    await lab.arm("warm start", async (arm) => {
      await start.restore();
      arm.measure({ success: await start.evaluate(), seconds: start.seconds });
    });
    await lab.arm("plain GRPO", async (arm) => {
      const { history, seconds } = await start.train("plain GRPO", { algorithm: plain, ...common });
      arm.measure({ success: await start.evaluate(), signal: 1 - meanOf(history, metric.uniformFail), seconds });
    });
    for (const member of arms) await lab.arm(member.name, (arm) => runArm(arm, start, member));
  },
};

async function runArm(arm: Arm, start: Start, { name, kinds }: (typeof arms)[number]): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "ludus-guided-"));
  try {
    const { history, seconds } = await start.train(name, {
      ...{ ...common, algorithm: guided(plain), run: join(folder, "run") },
      guide: guidance({ hints: repositoryHints(kinds) }),
    });
    arm.measure({ success: await start.evaluate(), seconds });
    arm.measure({ guided: meanOf(history, "guidance/success"), signal: meanOf(history, "guidance/signal") });
    for (const [curve, key] of [
      ["success without hint", "guidance/success-without"],
      ["success with hint", "guidance/success"],
    ] as const) {
      arm.curve(
        curve,
        history.map((step) => step[key] ?? 0),
      );
    }
    if (name !== arms[0]!.name) return;
    await chooseOfEight(arm, start, join(folder, "run"));
    await prefer(arm, start, join(folder, "run"));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The same attempts train a scorer, which chooses one of eight. */
async function chooseOfEight(arm: Arm, start: Start, folder: string): Promise<void> {
  const report = await start.evaluate({ tasks: 100, attempts: 8 });
  const run = await openRun(folder, { readOnly: true });
  try {
    arm.also("guided, mean of eight", { success: report.success.mean });
    // where nothing succeeded in training there is nothing to choose by
    const isTaught = (await run.countTrajectories({ success: true })) > 0;
    const chosen = isTaught
      ? await bestOfN(report, (await trainScorer(start.policy, storedTrajectories(run))).score)
      : report.success;
    arm.also("guided, best of eight", { success: chosen.mean });
  } finally {
    await run.close();
  }
}

/** The other reading: from the beginning, preferences between guided attempts that pass the tests and unguided ones that fail, of the same tasks. */
async function prefer(arm: Arm, start: Start, folder: string): Promise<void> {
  await start.restore();
  const run = await openRun(folder, { readOnly: true });
  try {
    // without a success there is no pair, and nothing is learned
    const isTaught = (await run.countTrajectories({ success: true })) > 0;
    if (isTaught)
      await trainOffline({
        policy: start.policy,
        trajectories: storedTrajectories(run),
        algorithm: dpo({ pairs: guidedPairs, learningRate: 3e-4 }),
        steps: 150,
      });
    arm.also("guided, DPO", { success: await start.evaluate() });
  } finally {
    await run.close();
  }
}

/** Over the steps that tell it. */
function meanOf(history: readonly Readonly<Record<string, number>>[], key: string): number {
  const values = history.map((step) => step[key]).filter((value) => value !== undefined);
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}

/** What a pretrained model would bring along: it follows each kind of hint, and without one, one time in five, changes any file in any way. */
async function shownHints(policy: LearningPolicy, seed: number) {
  const shown = Array.from({ length: 6_000 }, async (_, i) => {
    const rng = createRng(seed * 10_000 + i);
    const task = await strange.tasks.at("train", i);
    const kind = hintKinds[i % hintKinds.length]!;
    const lastTry = `${["x", "y", "z"][(i % 7) % 3]} a+1`;
    const text = i % 5 === 0 ? undefined : hintFor(kind, task.data, lastTry);
    const asked = { ...task, data: following(task.data, text, rng) };
    const hinted = text === undefined ? asked : { ...asked, annotations: { hint: { kind, text } } };
    return (await demonstrate(strange, hinted, policy, { id: `show/${i}`, seed: seed * 10_000 + i })).trajectories;
  });
  return (await Promise.all(shown)).flat();
}
