import { fromScratch, imitate, reinforcePlusPlus } from "ludus";
import { perDomain } from "ludus/credit";
import type { Arm, Beginning, Recipe } from "ludus/recipe";
import { absoluteZeroClaims } from "./claims.ts";
import { SelfPlay } from "./self-play.ts";
import { type AbsoluteZeroTask, absoluteZeroWorld, type Kind, kinds, tasksOfPeople } from "./world.ts";

/** What was read before, and tasks of people to be measured with. Neither is trained on after the warm start. */
const read = absoluteZeroWorld({ tasks: tasksOfPeople(false) });
const test = absoluteZeroWorld({ tasks: tasksOfPeople(true) });

const settings = { steps: 50, tasksPerStep: 72, seeded: 256 };
const plain = reinforcePlusPlus({ groupSize: 1, learningRate: 1e-3 });

interface Method {
  readonly name: string;
  readonly kinds: readonly Kind[];
  readonly references: number;
  readonly isProposerTrained: boolean;
  /** TRR++: rewards are normalised apart for each kind of task and role, six in all; one baseline otherwise. */
  readonly hasSixBaselines: boolean;
}

const whole = { kinds, references: 3, isProposerTrained: true, hasSixBaselines: true };
const methods: readonly Method[] = [
  { name: "Absolute Zero", ...whole },
  { name: "proposer not trained", ...whole, isProposerTrained: false },
  { name: "deduction only", ...whole, kinds: ["deduction"] },
  { name: "without references", ...whole, references: 0 },
  { name: "one baseline", ...whole, hasSixBaselines: false },
];

export const absoluteZero: Recipe = {
  system: "absolute-zero",
  title: "Absolute Zero",
  measures: {
    success: "solved",
    deduction: "deduction",
    abduction: "abduction",
    induction: "induction",
    share: "own tasks solved",
    kept: "own tasks",
    seconds: "seconds",
  },
  claims: absoluteZeroClaims,
  async run(lab) {
    const policy = fromScratch({ size: "tiny", tokenizer: "bytes" });
    const careless = imitate({ demonstrations: 4000, noise: 0.4, steps: 600, learningRate: 2e-3 });
    const start = await lab.begin({ env: read, policy, warmStart: careless });
    await lab.arm("base", async (arm) => {
      await start.restore();
      await measure(arm, start);
      arm.measure({ seconds: start.seconds });
    });
    for (const method of methods) await lab.arm(method.name, (arm) => play(arm, method, start, lab.seed));
  },
};

async function play(
  arm: Arm,
  method: Method,
  start: Beginning<AbsoluteZeroTask, undefined>,
  seed: number,
): Promise<void> {
  await start.restore();
  const started = performance.now();
  const own = new SelfPlay({ ...method, policy: start.policy, seed });
  await own.fill(settings.seeded);
  const credit = perDomain(plain.credit, { grouping: method.hasSixBaselines ? "domain" : "batch" });
  const algorithm = { ...plain, credit: method.isProposerTrained ? credit : solverOnly(credit) };
  const shares: number[] = [];
  const monitor = {
    name: "own tasks",
    record: ({ type }: { readonly type: string }) => {
      if (type === "step-end") shares.push(own.report().share);
    },
  };
  await start.trainOn(method.name, {
    env: own.world,
    algorithm,
    steps: settings.steps,
    tasksPerStep: settings.tasksPerStep,
    monitors: [monitor],
  });
  await measure(arm, start);
  const last = shares.slice(-10);
  arm.measure({
    share: last.reduce((sum, each) => sum + each, 0) / last.length,
    kept: own.report().kept,
    seconds: (performance.now() - started) / 1000,
  });
  arm.curve("own tasks solved, by step", shares);
}

/** Proposals are made and kept, and nothing is learned about making them. */
function solverOnly(credit: typeof plain.credit): typeof plain.credit {
  return {
    ...credit,
    assign(rows) {
      const result = credit.assign(rows);
      const advantages_B_T = result.advantages_B_T.map((advantages_T, b) =>
        rows[b]!.domain?.startsWith("propose") ? advantages_T.map(() => 0) : advantages_T,
      );
      return { ...result, advantages_B_T };
    },
  };
}

async function measure(arm: Arm, start: Beginning<AbsoluteZeroTask, undefined>): Promise<void> {
  arm.measure({ success: await start.evaluate({ env: test }) });
  for (const kind of kinds) {
    const tasks = { ...test.tasks, at: (split: string, index: number) => ofKind(kind, split, index) };
    arm.measure({ [kind]: (await start.evaluate({ env: { ...test, tasks }, tasks: 100 })).success.mean });
  }
}

/** Tasks of one kind, in their order. */
async function ofKind(kind: Kind, split: string, index: number) {
  for (let i = index * 16; ; i++) {
    const task = await test.tasks.at(split, i);
    if (task.data.kind === kind) return task;
  }
}
