import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { defineEnv } from "../../env/define-env.ts";
import { createRng } from "../../random.ts";
import { fakeTrajectory } from "../../schema/fake-trajectory.ts";
import type { StopReason } from "../../schema/stop-reason.ts";
import type { Task } from "../../schema/task.ts";
import type { TrajectoryGroup } from "../../schema/trajectory-group.ts";
import { listed } from "../../task/listed.ts";
import { fakeGuideContext } from "../fake-guide-context.ts";
import { guideContract } from "../guide.contract.ts";
import type { Guide, GuideContext, Lease, LeasedGroup, MakeGuide } from "../guide.ts";
import { inOrder } from "../in-order.ts";
import { guidance } from "./guidance.ts";
import type { GuidanceOptions } from "./guidance-options.ts";
import type { FailedTask, HintGenerator } from "./hints.ts";
import { scriptedHints } from "./scripted-hints.ts";

const env = defineEnv({
  name: "letters",
  tasks: listed({ train: [..."abcdefghijklmnopqrstuvwxyz"], test: ["z"] }),
  system: () => "Be quick.",
  start: ({ task }) => ({ state: {}, say: `Say ${task}.` }),
});

const turn = { span: { start: 0, end: 0 }, calls: [], reward: 0 };

/** Attempts with these rewards; 1 is a success. */
function attempts(task: Task<string>, rewards: readonly number[], stop: StopReason = "completed") {
  const trajectories = rewards.map((total, i) =>
    fakeTrajectory(
      createRng(i),
      {
        taskId: task.id,
        rollout: `r${i}`,
        id: `r${i}`,
        stop,
        score: { total, parts: {}, success: total >= 1 },
        turns: [{ ...turn, text: `try ${i}`, observation: "wrong" }],
      },
      { turns: 0 },
    ),
  );
  return { task, trajectories } satisfies TrajectoryGroup<string>;
}

const always = () => 1;
const hints = scriptedHints<string>({ plan: () => "look", environment: ({ task }) => `it is ${task.data}` });
const make = (options: Partial<GuidanceOptions> = {}) =>
  guidance({ hints, probability: always, ...options })(fakeGuideContext(env));
const shown = (leases: readonly Lease<string>[]) =>
  leases.map(({ task: { data, annotations: { hint } = {} } }) =>
    hint === undefined ? data : `${data} ${hint.kind}: ${hint.text}`,
  );

describe.each(
  Object.entries<Partial<GuidanceOptions>>({
    "with every option as it is": { probability: (passRate) => 1 - passRate },
    "always, half of the tasks": {},
    "nearly nothing but retries": { share: 0.9, retries: 2, waiting: 3 },
    "around another": { tasks: guidance({ hints: scriptedHints({ inner: () => "inner" }), probability: always }) },
  }),
)("guidance %s", (_name, options) => guideContract(() => guidance({ hints, probability: always, ...options })));

const went = (lease: Lease<string>, rewards: readonly number[], stop?: StopReason): LeasedGroup<string> => {
  return { lease, group: attempts(lease.task, rewards, stop) };
};

/** A step in which a task is solved where `solves` says so. */
async function step(guide: Guide<string>, count: number, solves: (task: Task<string>) => boolean = () => false) {
  const leases = await guide.pick(count);
  await guide.observe(leases.map((lease) => went(lease, [0, solves(lease.task) ? 1 : 0])));
  return shown(leases);
}

describe("a task that no attempt solved", () => {
  test("comes again with a hint, at most a share of what is asked for, the rest are fresh", async () => {
    const guide = make();
    expect(await step(guide, 4)).toEqual(["a", "b", "c", "d"]);
    expect(await step(guide, 4, () => true)).toEqual(["e", "f", "a plan: look", "b plan: look"]);
    expect(await step(guide, 4, () => true)).toEqual(["g", "h", "c plan: look", "d plan: look"]);
    expect(await step(guide, 4)).toEqual(["i", "j", "k", "l"]);
  });

  test("gets the next kind when it fails again, and is given up in the end", async () => {
    const guide = make({ share: 1, retries: 3 });
    await step(guide, 1);
    expect(await step(guide, 1)).toEqual(["a plan: look"]);
    expect(await step(guide, 1)).toEqual(["a environment: it is a"]);
    expect(await step(guide, 1)).toEqual(["a environment: it is a"]);
    expect(await step(guide, 1)).toEqual(["b"]);
  });

  test("keeps its id, seed and data, and tells the rewards it failed with, also when it is guided again", async () => {
    const guide = make({ share: 1 });
    const [first] = await guide.pick(1);
    await guide.observe([went(first, [0.25, 0, Number.NaN])]);
    for (const kind of ["plan", "environment"]) {
      const [guided] = await guide.pick(1);
      const hint = { kind, text: kind === "plan" ? "look" : "it is a" };
      expect(guided.task).toEqual({ ...first.task, annotations: { hint, failures: [0.25, 0] } });
      await guide.observe([went(guided, [0.5])]);
    }
  });

  test("is not one where only the infrastructure failed", async () => {
    const guide = make();
    const [first, second] = await guide.pick(2);
    await guide.observe([went(first, [0, 0], "tool-crash"), went(second, [0])]);
    expect(await step(guide, 2)).toEqual(["c", "b plan: look"]);
  });

  test("waits only so long, and only once", async () => {
    const guide = make({ waiting: 2, share: 1 });
    await step(guide, 3);
    expect(guide.metrics()["guidance/waiting"]).toBe(2);
    expect(await step(guide, 3, () => true)).toEqual(["d", "b plan: look", "c plan: look"]);
    const twice = make();
    const leases = await twice.pick(27);
    expect(leases[26].task.id).toBe(leases[0].task.id);
    await twice.observe([went(leases[0], [0]), went(leases[26], [0])]);
    expect(twice.metrics()["guidance/waiting"]).toBe(1);
  });
});

test("a share of less than a task adds up", async () => {
  const guide = make({ share: 0.25 });
  await step(guide, 4);
  const steps = [await step(guide, 2), await step(guide, 2), await step(guide, 2)];
  expect(steps.map((tasks) => tasks.filter((task) => task.includes("plan")).length)).toEqual([0, 1, 0]);
});

test("picking again within a step gives further tasks", async () => {
  const guide = make();
  await step(guide, 4);
  guide.metrics();
  const [one, two] = [await guide.pick(2), await guide.pick(2)];
  expect(shown([...one, ...two])).toEqual(["e", "a plan: look", "f", "b plan: look"]);
  await guide.observe([...one, ...two].map((lease) => went(lease, [0, 1])));
  expect(guide.metrics()).toMatchObject({ "guidance/share": 0.5, "guidance/success": 0.5, "guidance/rescued": 2 });
});

describe("the probability of help", () => {
  test("falls as attempts without a hint succeed", async () => {
    const guide = make({ probability: (passRate) => 1 - passRate, window: 4 });
    expect(guide.metrics()["guidance/probability"]).toBe(1);
    await step(guide, 2);
    expect(guide.metrics()).toMatchObject({ "guidance/pass-rate": 0, "guidance/probability": 1 });
    // c succeeds in one of two; the guided one does not count
    await step(guide, 2, () => true);
    expect(guide.metrics()["guidance/pass-rate"]).toBeCloseTo(0.5 / 3, 12);
    for (let i = 0; i < 40; i++) await step(guide, 2, () => true);
    expect(guide.metrics()["guidance/pass-rate"]).toBeCloseTo(0.5, 3);
    expect(guide.metrics()["guidance/probability"]).toBeCloseTo(0.5, 3);
  });

  test("is how often a failed task is tried again", async () => {
    const count = async (probability: number) => {
      const guide = make({ probability: () => probability, waiting: 1000, share: 0 });
      for (let i = 0; i < 20; i++) await step(guide, 20);
      return guide.metrics()["guidance/waiting"];
    };
    // 400 draws over 26 letters: each waits once, so look at how fast they fill
    expect(await count(0)).toBe(0);
    expect(await count(1)).toBe(26);
    const guide = make({ probability: () => 0.25, waiting: 1000, share: 0 });
    await step(guide, 26);
    expect(guide.metrics()["guidance/waiting"]).toBeGreaterThan(1);
    expect(guide.metrics()["guidance/waiting"]).toBeLessThan(14);
  });
});

test("metrics are of the step, and absent where nothing is counted", async () => {
  const guide = make();
  await step(guide, 4, ({ data }) => data === "a");
  expect(guide.metrics()).toEqual({
    "guide/tasks": 4,
    "guidance/share": 0,
    "guidance/success-without": 0.125,
    "guidance/signal": 0.25,
    "guidance/signal-without": 0.25,
    "guidance/pass-rate": 0.125,
    "guidance/probability": 1,
    "guidance/waiting": 3,
    "guidance/rescued": 0,
    "guidance/hint-failures": 0,
  });
  await step(guide, 4, ({ annotations }) => annotations?.hint !== undefined);
  const expected = {
    "guidance/share": 0.5,
    "guidance/success": 0.5,
    "guidance/success-without": 0,
    "guidance/signal": 0.5,
    "guidance/signal-without": 0,
    "guidance/rescued": 2,
  };
  expect(guide.metrics()).toMatchObject(expected);
  expect(guide.metrics()).toMatchObject(expected);
});

test("another guide gives the fresh tasks, and hears of them alone", async () => {
  const heard: string[][] = [];
  const backwards: MakeGuide = <Data>({ env: given, split }: GuideContext<Data>): Guide<Data> => {
    let next = 25;
    return {
      name: "backwards",
      pick: async (count) =>
        Promise.all(
          Array.from({ length: count }, async () => ({ id: `${next}`, task: await given.tasks.at(split, next--) })),
        ),
      observe(results) {
        heard.push(results.map(({ group }) => String(group.task.data)));
        return [];
      },
      state: () => next,
      restore(state) {
        next = Number(state);
      },
      metrics: () => ({ "guide/next": next }),
    };
  };
  const guide = make({ tasks: backwards });
  await step(guide, 2);
  expect(await step(guide, 2)).toEqual(["x", "z plan: look"]);
  expect(heard).toEqual([["z", "y"], ["x"]]);
  expect(guide.metrics()["guide/next"]).toBe(22);
  const resumed = make({ tasks: backwards });
  resumed.restore(JSON.parse(JSON.stringify(guide.state())));
  expect(await step(resumed, 2)).toEqual(await step(guide, 2));
});

test("a restored guide goes on exactly where the other was", async () => {
  const options = { probability: (passRate: number) => 0.9 - passRate, share: 0.4, window: 5, seed: 3 };
  const solves = ({ data, annotations }: Task<string>) => data > "q" || (annotations?.hint !== undefined && data > "d");
  for (let stop = 1; stop < 8; stop++) {
    const guide = make(options);
    for (let i = 0; i < stop; i++) await step(guide, 3, solves);
    const metrics = guide.metrics();
    const resumed = make(options);
    resumed.restore(JSON.parse(JSON.stringify(guide.state())));
    expect(resumed.metrics()).toEqual(metrics);
    for (let i = 0; i < 12; i++) {
      expect(await step(resumed, 3, solves)).toEqual(await step(guide, 3, solves));
      expect(resumed.metrics()).toEqual(guide.metrics());
      expect(resumed.state()).toEqual(guide.state());
    }
  }
});

test("what the guide of fresh tasks adds is passed on", async () => {
  const adding: MakeGuide = (context) => {
    const inner = inOrder()(context);
    return { ...inner, observe: (results) => results.map(({ group }) => group) };
  };
  const guide = make({ tasks: adding });
  await step(guide, 2);
  const leases = await guide.pick(2);
  expect(shown(leases)).toEqual(["c", "a plan: look"]);
  const extra = await guide.observe(leases.map((lease) => went(lease, [0])));
  expect(extra.map(({ task }) => task.data)).toEqual(["c"]);
});

test("a state from before there were leases is restored", async () => {
  const guide = make();
  await step(guide, 4);
  const { leases: _leases, tasks: _tasks, ...state } = Object(guide.state());
  const other = make();
  other.restore({ ...state, tasks: { next: 4 } });
  expect(shown(await other.pick(4))).toEqual(shown(await guide.pick(4)));
});

test("a state that is none is refused, and so are options that make no sense", () => {
  expect(() => make().restore({ tasks: 0, waiting: 3 })).toThrow(
    "bad-guide-state: got the state of guidance with waiting = 3",
  );
  expect(() => guidance({ hints, share: 1.5 })).toThrow("bad-guidance: got share 1.5, expected 0 to 1");
  expect(() => guidance({ hints, retries: 0 })).toThrow("bad-guidance: got retries 0");
});

describe("what a generator is given", () => {
  test("is the task, its opening, what was tried and what was told before", async () => {
    const seen: FailedTask<string>[] = [];
    const watching: HintGenerator<string> = {
      name: "watching",
      write(failed) {
        seen.push(failed);
        return { kind: "plan", text: `hint ${failed.earlier.length}` };
      },
    };
    const guide = make({ hints: watching, share: 1 });
    for (let i = 0; i < 3; i++) await step(guide, 1);
    expect(seen).toHaveLength(2);
    expect(seen[0].task.data).toBe("a");
    expect(seen[0].attempts[1]).toEqual({
      stop: "completed",
      score: { total: 0, parts: {}, success: false },
      messages: [
        { role: "assistant", content: "try 1" },
        { role: "user", content: "wrong" },
      ],
    });
    expect(seen[1].earlier).toEqual([{ kind: "plan", text: "hint 0" }]);
    expect(await seen[0].opening()).toEqual([
      { role: "system", content: "Be quick." },
      { role: "user", content: "Say a." },
    ]);
  });
});

describe("a generator that fails", () => {
  const warnings: string[] = [];
  const { emitWarning } = process;
  beforeEach(() => {
    warnings.length = 0;
    process.emitWarning = (warning: string | Error) => void warnings.push(String(warning));
  });
  afterEach(() => {
    process.emitWarning = emitWarning;
  });

  test("leaves tasks unguided, with a warning, and the run goes on", async () => {
    const broken: HintGenerator = {
      name: "broken",
      write: async () => {
        throw new Error("the model is away");
      },
    };
    const guide = make({ hints: broken });
    await step(guide, 4);
    expect(await step(guide, 4)).toEqual(["e", "f", "g", "h"]);
    expect(warnings).toEqual(['no hint from "broken": the model is away']);
    expect(guide.metrics()["guidance/hint-failures"]).toBe(2);
  });

  test("or has nothing to say leaves them, too", async () => {
    const guide = make({ hints: { name: "silent", write: () => undefined } });
    await step(guide, 4);
    expect(await step(guide, 4)).toEqual(["e", "f", "g", "h"]);
    expect(warnings).toEqual([]);
  });
});
