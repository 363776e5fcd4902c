import { cosine, createRng, type EvalReport, fromScratch, grpo, imitate, listed, runRollout, type Task } from "ludus";
import type { Arm, Beginning, Lab, Recipe } from "ludus/recipe";
import { from, shuffled } from "../tasks.ts";
import { check, failingTests, injectorReward } from "./checks.ts";
import { ssrClaims } from "./claims.ts";
import { fileNames } from "./language.ts";
import { type MendTask, mended, mendTask, type SelfPlayTask, selfPlay, type Worth } from "./world.ts";

const both = selfPlay({ kinds: ["break", "mend"] });
const mending = selfPlay({ kinds: ["mend"] });
const breaking = selfPlay({ kinds: ["break"] });

const algorithm = grpo({ groupSize: 8, learningRate: 4e-4 });
/** Of self-play: a step of injecting, then steps of mending what was injected. */
const rounds = 12;
const solverSteps = 2;
const repositories = 8;
const bugsPerStep = 16;
/** Solvers that try each bug. */
const solvers = 8;

interface Method {
  readonly name: string;
  readonly isInjecting: boolean;
  readonly mends: "injected" | "fixed" | "nothing";
  readonly isHigherOrder: boolean;
}

const methods: readonly Method[] = [
  { name: "self-play", isInjecting: true, mends: "injected", isHigherOrder: true },
  { name: "repair only", isInjecting: false, mends: "fixed", isHigherOrder: false },
  { name: "injection only", isInjecting: true, mends: "nothing", isHigherOrder: false },
  { name: "self-play, first order only", isInjecting: true, mends: "injected", isHigherOrder: false },
];

type Start = Beginning<SelfPlayTask, { said: string }>;

export const ssr: Recipe = {
  system: "ssr",
  title: "Self-play SWE-RL",
  measures: {
    success: "mended",
    consistent: "bugs that pass the checks",
    between: "of these, mended by some solvers",
    higher: "bugs of second order",
    seconds: "seconds",
  },
  claims: ssrClaims,
  async run(lab) {
    const start = await lab.begin({
      env: both,
      policy: fromScratch({ size: "tiny", tokenizer: "bytes" }),
      warmStart: imitate({
        ...{ demonstrations: 4000, noise: 0.3, steps: 600, batchSize: 32 },
        learningRate: cosine(3e-3, 0.1),
      }),
    });
    await lab.arm("start", async (arm) => {
      await start.restore();
      await measure(arm, start);
      arm.measure({ seconds: start.seconds });
    });
    for (const method of methods) await lab.arm(method.name, (arm) => play(arm, method, start, lab));
  },
};

async function measure(arm: Arm, start: Start): Promise<void> {
  const success = await start.evaluate({ env: mending });
  arm.measure({ success, consistent: (await start.evaluate({ env: breaking, tasks: 200 })).success.mean });
}

async function play(arm: Arm, method: Method, start: Start, lab: Lab): Promise<void> {
  await start.restore();
  const started = performance.now();
  const fixed = method.mends === "fixed" ? await firstBugs(start) : [];
  const shares: number[][] = [];
  let higher = 0;
  for (let round = 0; round < rounds; round++) {
    const found: MendTask[] = [...fixed];
    if (method.isInjecting) {
      const solved: number[] = [];
      const worth = worthOf(start, { found, solved, isHigherOrder: method.isHigherOrder });
      const env = from(selfPlay({ kinds: ["break"], worth }), round * repositories);
      await start.trainOn(`${method.name}, injector`, { env, algorithm, steps: 1, tasksPerStep: repositories });
      shares.push(solved);
      higher += found.length - solved.length;
    }
    if (method.mends === "nothing" || found.length === 0) continue;
    const env = {
      ...mending,
      tasks: listed(
        { train: shuffled(inOrder(found), createRng(lab.seed * rounds + round)), test: found },
        { name: `bugs-${round}` },
      ),
    };
    const training = { env, algorithm, steps: solverSteps, tasksPerStep: Math.min(bugsPerStep, found.length) };
    await start.trainOn(`${method.name}, solver`, training);
  }
  const last = shares.slice(-3).flat();
  await measure(arm, start);
  arm.measure({ seconds: (performance.now() - started) / 1000 });
  if (last.length > 0)
    arm.measure({ higher, between: last.filter((share) => share > 0 && share < 1).length / last.length });
  arm.curve("mended by solvers, by round", shares.map(mean));
}

/** Bugs are found as solvers end, which is another order every time. */
function inOrder(found: readonly MendTask[]): MendTask[] {
  const text = new Map(found.map((bug) => [bug, JSON.stringify(bug)]));
  return found.toSorted((a, b) => (text.get(a)! < text.get(b)! ? -1 : 1));
}

interface Found {
  readonly found: MendTask[];
  /** For each bug of first order, the share of solvers that mended it. */
  readonly solved: number[];
  readonly isHigherOrder: boolean;
}

/** Solvers are the same policy. What one of them leaves that still fails is a bug of second order, and there are none of third. */
function worthOf({ policy }: Start, { found, solved, isHigherOrder }: Found): Worth {
  let asked = 0;
  return async (bug, signal) => {
    const id = `bug-${asked++}`;
    const task: Task<SelfPlayTask> = { id, seed: 0, data: bug };
    const attempts = await Promise.all(
      Array.from({ length: solvers }, (_, i) =>
        runRollout(mending, task, policy, { id: `${id}/${i}`, seed: i, signal }),
      ),
    );
    const share = attempts.filter(({ trajectories }) => trajectories[0]?.score.success).length / solvers;
    found.push(bug);
    solved.push(share);
    const second = attempts.flatMap(
      ({ trajectories }) => secondOrder(bug, trajectories[0]?.turns[0]?.text ?? "") ?? [],
    );
    if (isHigherOrder && second[0] !== undefined) found.push(second[0]);
    return injectorReward(share);
  };
}

/** What a failed attempt leaves, where it is another program that fails tests, and not by chance. */
export function secondOrder(bug: MendTask, said: string): MendTask | undefined {
  const left = mended(bug, said);
  if (left === undefined || JSON.stringify(left) === JSON.stringify(bug.buggy)) return undefined;
  const hidden = failingTests(bug.repository.sources, left, fileNames) ?? [];
  return hidden.length === 0 ? undefined : mendTask(bug.repository, { buggy: left, hidden });
}

/** Bugs that the injector makes before it learns, which stay the same. */
async function firstBugs(start: Start): Promise<MendTask[]> {
  const { rollouts }: EvalReport = await start.evaluate({
    env: breaking,
    split: "train",
    tasks: rounds * repositories * 2,
  });
  return rollouts.flatMap(({ task, trajectories }) => {
    const { repository } = task.data as SelfPlayTask;
    const bug = check(repository.sources, trajectories[0]?.turns[0]?.text ?? "");
    return typeof bug === "string" ? [] : [mendTask(repository, bug)];
  });
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
