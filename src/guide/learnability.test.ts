import { describe, expect, test } from "vitest";
import { defineEnv } from "../env/define-env.ts";
import { createRng, type Rng } from "../random.ts";
import { fakeTrajectory } from "../schema/fake-trajectory.ts";
import type { StopReason } from "../schema/stop-reason.ts";
import { absoluteZeroProposer, rZeroChallenger, ssrInjector } from "../scorer/challenger.ts";
import { generated } from "../task/generated.ts";
import { listed } from "../task/listed.ts";
import { mixed } from "../task/mixed.ts";
import type { TaskSource } from "../task/task-source.ts";
import { fakeGuideContext } from "./fake-guide-context.ts";
import { guideContract } from "./guide.contract.ts";
import type { Guide, Lease, LeasedGroup, MakeGuide } from "./guide.ts";
import { inOrder } from "./in-order.ts";
import { type LearnabilityOptions, learnability } from "./learnability.ts";
import { SeenTasks } from "./seen-tasks.ts";

describe.each(
  Object.entries<Partial<LearnabilityOptions>>({
    "with every option as it is": {},
    "with nothing but tasks that come again": { fresh: 0, checks: 0.2, rest: 0 },
    "with a short memory": { fresh: 0.3, capacity: 5, rest: 2 },
    "with fresh tasks alone": { fresh: 1, checks: 0 },
  }),
)("learnability %s", (_name, options) => guideContract(() => learnability(options)));
const start = () => ({ state: {}, say: "?" });
const endless = generated((rng) => rng.next());
const envOf = <Data>(tasks: TaskSource<Data>) => defineEnv({ name: "numbers", tasks, start });
const list = (size: number) => listed({ train: Array.from({ length: size }, (_, i) => i), test: [0] });

const made = (make: MakeGuide, tasks: TaskSource<number> = endless, seed = 0) =>
  make(fakeGuideContext(envOf(tasks), seed));
const make = (options: Partial<LearnabilityOptions> = {}, tasks: TaskSource<number> = endless, seed = 0) =>
  made(learnability(options), tasks, seed);

/** The number at the end of a task's id: its place in the split. */
const placeOf = ({ task }: Lease<number>) => Number(task.id.split("/").at(-1));

function went(lease: Lease<number>, outcomes: readonly boolean[], stop: StopReason = "completed"): LeasedGroup<number> {
  const trajectories = outcomes.map((success, i) =>
    fakeTrajectory(
      createRng(i),
      {
        id: `${lease.id}/${i}`,
        rollout: `${lease.id}/${i}`,
        taskId: lease.task.id,
        stop,
        score: { total: Number(success), parts: {}, success },
      },
      { turns: 0 },
    ),
  );
  return { lease, group: { task: lease.task, trajectories } };
}

const groupSize = 8;
const contrast = (outcomes: readonly boolean[]) => outcomes.includes(true) && outcomes.includes(false);
const solved = Array<boolean>(groupSize).fill(true);
const failed = Array<boolean>(groupSize).fill(false);
const split = [...solved.slice(4), ...failed.slice(4)];

/** A step whose attempts go as `outcomes` says of each place. Returns the places. */
async function step(guide: Guide<number>, count: number, outcomes: (place: number) => readonly boolean[]) {
  const leases = await guide.pick(count);
  await guide.observe(leases.map((lease) => went(lease, outcomes(placeOf(lease)))));
  return leases.map(placeOf);
}

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);
/** A third of all tasks each. */
const byThirds = (place: number) => [split, solved, failed][place % 3];

describe("tasks come again", () => {
  test("where attempts differed; not where all succeeded or all failed", async () => {
    const guide = make({ checks: 0 });
    const counts = [0, 0, 0];
    let highest = -1;
    for (let i = 0; i < 200; i++) {
      for (const place of await step(guide, 12, byThirds)) {
        if (place <= highest) counts[place % 3]++;
        highest = Math.max(highest, place);
      }
    }
    // what was just seen rests: nothing comes again in steps 1 and 2, four tasks do in steps 3 and 4, then half of each step
    expect(counts).toEqual([2 * 4 + 196 * 6, 0, 0]);
    expect(guide.metrics()).toMatchObject({ "guide/tasks": 2400, "guide/known": 1216, "guide/mixed": 406 });
    expect(guide.metrics()["guide/mean-learnability"]).toBeCloseTo((0.25 * 406) / 1216, 12);
    expect(guide.metrics()["guide/retried-share"]).toBeCloseTo(1184 / 2400, 12);
    await step(guide, 12, byThirds);
    expect(guide.metrics()["guide/retried-share"]).toBe(0.5);
  });

  test("in proportion to p(1 - p) of (s + 1) / (n + 2)", async () => {
    // even places succeed in 4 of 8 attempts, odd ones in 1 of 8: 1/4 and 2/10 * 8/10
    const outcomes = (place: number) => (place % 2 === 0 ? split : [true, ...failed.slice(1)]);
    let even = 0;
    const draws = 1000;
    for (let seed = 0; seed < draws; seed++) {
      const guide = make({ fresh: 0, checks: 0, rest: 0 }, endless, seed);
      await step(guide, 10, outcomes);
      if (placeOf((await guide.pick(1))[0]) % 2 === 0) even++;
    }
    expect(Math.abs(even / draws - 0.25 / 0.41)).toBeLessThan(3 * Math.sqrt(0.24 / draws));
  });

  test("each once in a step, and not while it is under way", async () => {
    const guide = make({ fresh: 0, checks: 0, rest: 0 });
    await step(guide, 10, () => split);
    const first = (await guide.pick(6)).map(placeOf);
    const second = (await guide.pick(6)).map(placeOf);
    expect([...first, ...second].sort((a, b) => a - b)).toEqual(range(0, 12));
    expect(first.every((place) => place < 10)).toBe(true);
  });

  test("in one of two picks that overlap", async () => {
    const guide = make({ fresh: 0, checks: 0, rest: 0 });
    await step(guide, 10, () => split);
    const picks = await Promise.all([guide.pick(5), guide.pick(5)]);
    expect(
      picks
        .flat()
        .map(placeOf)
        .sort((a, b) => a - b),
    ).toEqual(range(0, 10));
  });

  test("and are let go when they are solved: newer groups count more", async () => {
    const guide = make({ fresh: 0, checks: 0, rest: 0 }, list(4));
    await step(guide, 4, () => split);
    const means: number[] = [];
    for (let i = 0; i < 4; i++) {
      await step(guide, 4, () => solved);
      means.push(guide.metrics()["guide/mean-learnability"]);
    }
    // 10 of 12, 13 of 14, 14.5 of 15; then a quarter of a failure is left
    const of = (s: number, n: number) => ((s + 1) / (n + 2)) * (1 - (s + 1) / (n + 2));
    expect(means).toEqual([of(10, 12), of(13, 14), of(14.5, 15), 0]);
    expect(guide.metrics()["guide/mixed"]).toBe(0);
  });

  test("with the data and the seed that they had", async () => {
    const guide = make({ fresh: 0, checks: 0, rest: 0 }, list(3));
    await step(guide, 3, () => split);
    const [lease] = await guide.pick(1);
    expect(lease.task).toEqual(await list(3).at("train", placeOf(lease)));
  });
});

test("shares of fresh tasks and of checks are kept, also where a step has few tasks", async () => {
  for (const count of [20, 3, 1]) {
    const guide = make({ rest: 0 });
    for (let i = 0; i < 10; i++) await step(guide, 20, byThirds);
    const before = guide.metrics();
    const counts = [0, 0, 0];
    for (let i = 0; i < 600 / count; i++) for (const place of await step(guide, count, byThirds)) counts[place % 3]++;
    const after = guide.metrics();
    expect(after["guide/tasks"] - before["guide/tasks"]).toBe(600);
    const fresh = after["guide/known"] - before["guide/known"];
    expect(fresh).toBe(300);
    // 100 of each third are fresh
    expect(counts[0]).toBe(100 + 270);
    expect(counts[1] + counts[2]).toBe(200 + 30);
    // both kinds are checked
    expect(Math.min(counts[1], counts[2])).toBeGreaterThan(105);
  }
});

test("a check notices a task that was forgotten, and it comes again", async () => {
  const guide = make({ fresh: 0, checks: 0.25, rest: 0 }, list(20));
  await step(guide, 20, () => solved);
  let isForgotten = false;
  const outcomes = (place: number) => (place === 7 && isForgotten ? split : solved);
  for (let i = 0; i < 5; i++) await step(guide, 4, outcomes);
  expect(guide.metrics()["guide/mixed"]).toBe(0);
  isForgotten = true;
  let seen = 0;
  for (let i = 0; i < 60; i++) if ((await step(guide, 4, outcomes)).includes(7)) seen++;
  expect(guide.metrics()["guide/mixed"]).toBe(1);
  // by chance alone it would be in a fifth of the steps
  expect(seen).toBeGreaterThan(40);
});

test("what was just seen rests while there are others", async () => {
  const guide = make({ fresh: 0, checks: 0, rest: 2 });
  const steps: number[][] = [];
  for (let i = 0; i < 30; i++) steps.push(await step(guide, 4, () => split));
  expect(steps.slice(0, 3).flat()).toEqual(range(0, 12));
  for (const [i, places] of steps.entries()) {
    for (const earlier of steps.slice(Math.max(0, i - 2), i)) {
      expect(places.filter((place) => earlier.includes(place))).toEqual([]);
    }
  }
  expect(new Set(steps.flat())).toEqual(new Set(range(0, 12)));
});

describe("evidence", () => {
  test("is not what the infrastructure broke", async () => {
    const guide = make({ rest: 0 });
    const leases = await guide.pick(2);
    const [{ group }, { group: broken }] = [went(leases[0], split), went(leases[0], [false], "tool-crash")];
    const trajectories = [
      ...group.trajectories,
      ...broken.trajectories.map((each) => ({ ...each, rollout: "broken" })),
    ];
    await guide.observe([
      { lease: leases[0], group: { ...group, trajectories } },
      went(leases[1], split, "tool-crash"),
    ]);
    expect(guide.metrics()).toMatchObject({ "guide/known": 1, "guide/mean-learnability": 0.25 });
  });

  test("is one outcome per rollout, however many trajectories it has", async () => {
    const guide = make();
    const [lease] = await guide.pick(1);
    const { group } = went(lease, [true, false]);
    const [success, failure] = group.trajectories;
    const pieces = range(0, 6).map((i) => ({ ...success, id: `piece ${i}`, weight: 1 / 6 }));
    await guide.observe([{ lease, group: { ...group, trajectories: [...pieces, failure] } }]);
    expect(guide.metrics()["guide/mean-learnability"]).toBe(0.25);
  });
});

describe("memory", () => {
  test("is bounded; what teaches is kept, then what was seen last", async () => {
    const guide = make({ capacity: 10, fresh: 1, checks: 0 });
    // places 0, 7, 14, … 42 are mixed
    for (let i = 0; i < 12; i++) await step(guide, 4, (place) => (place % 7 === 0 ? split : solved));
    const { seen } = Object(guide.state());
    const places = seen.map(([id]: [string]) => Number(id.split("/").at(-1)));
    expect(places).toEqual([0, 7, 14, 21, 28, 35, 42, 45, 46, 47]);
    expect(guide.metrics()).toMatchObject({ "guide/known": 10, "guide/mixed": 7 });
  });

  test("of a task that was seen again is younger", () => {
    const seen = new SeenTasks(2, { weight: (p) => p * (1 - p), retriesUnsolved: false });
    const add = (id: string, lastPick: number) => seen.add({ id, index: 0, successes: 8, attempts: 8, lastPick });
    for (const [i, id] of ["a", "b", "a", "c"].entries()) add(id, i);
    seen.forgetExcess();
    expect(seen.all().map(({ id }) => id)).toEqual(["a", "c"]);
  });

  test("that holds less than a split lets forgotten tasks be fresh again", async () => {
    const guide = make({ capacity: 6, fresh: 1, checks: 0 }, list(9));
    const places = [await step(guide, 9, () => solved), await step(guide, 3, () => solved)];
    expect(places).toEqual([range(0, 9), [0, 1, 2]]);
  });
});

describe("a split that ends", () => {
  test("is seen once in order, then tasks are chosen from all of it", async () => {
    const guide = make({ fresh: 0.5, checks: 0 }, list(30));
    const outcomes = (place: number) => (place < 10 ? split : solved);
    const seen: number[] = [];
    for (let i = 0; i < 12; i++) seen.push(...(await step(guide, 5, outcomes)));
    const firsts = [...new Set(seen)];
    expect(firsts).toEqual(range(0, 30));
    const later: number[] = [];
    guide.metrics();
    for (let i = 0; i < 40; i++) later.push(...(await step(guide, 5, outcomes)));
    // ten mixed tasks, of which five rest: no other is needed
    expect(later.filter((place) => place >= 10)).toEqual([]);
    expect(new Set(later).size).toBe(10);
    expect(guide.metrics()["guide/retried-share"]).toBe(1);
  });

  test("has each task under way once, as long as others are left", async () => {
    const guide = make({ fresh: 1, checks: 0 }, list(6));
    await guide.pick(2);
    const broken = await guide.pick(2);
    // nothing is known of these two: when the split starts over they are fresh, the two under way are not
    await guide.observe(broken.map((lease) => went(lease, failed, "tool-crash")));
    expect((await guide.pick(4)).map(placeOf)).toEqual([4, 5, 2, 3]);
  });

  test("gives as many as asked for, also more than it has", async () => {
    const guide = make({}, list(3));
    expect(await step(guide, 8, () => split)).toEqual([0, 1, 2, 0, 1, 2, 0, 1]);
    expect((await step(guide, 3, () => split)).sort()).toEqual([0, 1, 2]);
    expect(guide.metrics()["guide/known"]).toBe(3);
  });

  test("and is a mixture, is seen whole, whatever the weights", async () => {
    const source = mixed({
      few: { source: listed({ train: [1, 2], test: [0] }, { name: "few" }), weight: 1 },
      many: { source: listed({ train: range(0, 20), test: [0] }, { name: "many" }), weight: 1 },
    });
    const guide = make({ fresh: 1, checks: 0 }, source);
    const ids: string[] = [];
    for (let i = 0; i < 22; i++) {
      const leases = await guide.pick(1);
      ids.push(...leases.map(({ task }) => task.id));
      await guide.observe(leases.map((lease) => went(lease, solved)));
    }
    expect(new Set(ids).size).toBe(22);
  });
});

test("a source without end that repeats itself does not keep it searching", async () => {
  const repeating: TaskSource<number> = {
    ...endless,
    at: (split, index) => endless.at(split, index % 5),
  };
  const guide = make({ fresh: 1, checks: 0 }, repeating);
  const steps = [
    await step(guide, 4, () => solved),
    await step(guide, 4, () => solved),
    await step(guide, 4, () => split),
  ];
  expect(steps.map(({ length }) => length)).toEqual([4, 4, 4]);
  expect(guide.metrics()["guide/known"]).toBe(5);
});

test("resumed at any step it picks the same", async () => {
  const options = { fresh: 0.4, checks: 0.1, capacity: 25, rest: 2 };
  const rng = createRng(3);
  const rates = range(0, 400).map(() => rng.next());
  const outcomes = (place: number, i: number) => attempts(rates[place], createRng(place + 1000 * i));
  for (const tasks of [endless, list(40)]) {
    for (let stop = 0; stop < 20; stop++) {
      const guide = make(options, tasks);
      for (let i = 0; i < stop; i++) await step(guide, 7, (place) => outcomes(place, i));
      const resumed = make(options, tasks);
      resumed.restore(JSON.parse(JSON.stringify(guide.state())));
      expect(resumed.metrics()).toEqual(guide.metrics());
      for (let i = stop; i < stop + 8; i++) {
        const [went, wentOn] = await Promise.all(
          [guide, resumed].map((each) => step(each, 7, (place) => outcomes(place, i))),
        );
        expect(wentOn).toEqual(went);
        expect(resumed.state()).toEqual(guide.state());
      }
    }
  }
});

test("another seed draws others", async () => {
  const places = async (seed: number) => {
    const guide = make({ fresh: 0, rest: 0 }, list(100), seed);
    await step(guide, 100, () => split);
    return step(guide, 10, () => split);
  };
  expect(await places(1)).toEqual(await places(1));
  expect(await places(1)).not.toEqual(await places(2));
});

test.each<[Record<string, unknown>, string]>([
  [{ fresh: 1.5 }, "bad-option: got fresh 1.5 of learnability, expected a share, 0 to 1"],
  [{ checks: -0.1 }, "bad-option: got checks -0.1 of learnability, expected a share, 0 to 1"],
  [{ fresh: Number.NaN }, "bad-option: got fresh NaN of learnability"],
  [{ fresh: 1 }, "bad-option: got fresh 1 and checks 0.05 of learnability, expected at most 1 together. Lower one"],
  [{ capacity: 0 }, "bad-option: got capacity 0 of learnability, expected a whole number of at least 1"],
  [{ capacity: 2.5 }, "bad-option: got capacity 2.5 of learnability"],
  [{ rest: -1 }, "bad-option: got rest -1 of learnability, expected a whole number of at least 0"],
  [{ capcity: 10 }, 'learnability: unknown option "capcity"; did you mean "capacity"?'],
])("%j is refused in words", (options, message) => {
  expect(() => learnability(options)).toThrow(message);
});

test("a state that is none is named", () => {
  const state = { ...Object(make().state()), next: -1 };
  expect(() => make().restore(state)).toThrow("bad-guide-state: got the state of learnability with next = -1");
});

const attempts = (rate: number, rng: Rng) => range(0, groupSize).map(() => rng.next() < rate);

/** The share of groups with contrast over many steps of a policy that has `rates`, and what `learn` makes of them. */
async function contrastShare(
  guide: Guide<number>,
  rateOf: (place: number) => number,
  learn: (place: number) => void = () => {},
): Promise<number> {
  const rng = createRng(11);
  let groups = 0;
  let withContrast = 0;
  for (let i = 0; i < 150; i++) {
    await step(guide, 16, (place) => {
      const outcomes = attempts(rateOf(place), rng);
      groups++;
      if (contrast(outcomes)) {
        withContrast++;
        learn(place);
      }
      return outcomes;
    });
  }
  return withContrast / groups;
}

describe("of the groups of a simulated policy, more have contrast than in order", () => {
  /** As late in training: most tasks are solved, some never, an eighth sometimes. */
  const late = (place: number) => {
    const draw = createRng(place).next();
    if (draw < 1 / 8) return 0.1 + 6.4 * draw;
    return draw < 2 / 8 ? 0 : 1;
  };

  // these figures are in docs/how-to/training.md
  test.each([
    ["endless tasks", endless, late, 0.12, 0.46],
    ["300 tasks", list(300), late, 0.11, 0.75],
    ["endless tasks of every difficulty", endless, (place: number) => createRng(place).next(), 0.77, 0.8],
  ] as const)("where it does not learn, with %s", async (_name, tasks, rateOf, inTurn, byLearnability) => {
    expect(await contrastShare(made(inOrder(), tasks), rateOf)).toBeCloseTo(inTurn, 2);
    expect(await contrastShare(make({}, tasks), rateOf)).toBeCloseTo(byLearnability, 2);
  });

  test("where each group with contrast makes its task easier", async () => {
    const learning = (guide: Guide<number>) => {
      const gained = new Map<number, number>();
      const rateOf = (place: number) => Math.min(1, late(place) + 0.1 * (gained.get(place) ?? 0));
      return contrastShare(guide, rateOf, (place) => gained.set(place, (gained.get(place) ?? 0) + 1));
    };
    const [plain, chosen] = [await learning(made(inOrder())), await learning(make())];
    expect(plain).toBeLessThan(0.14);
    expect(chosen / plain).toBeGreaterThan(2);
  });
});

describe("the weight of tasks that come again", () => {
  /** How often each of four tasks comes again, whose attempts always succeed so many times of eight. */
  async function picked(options: Partial<LearnabilityOptions>, successes: readonly number[]): Promise<number[]> {
    const guide = make({ fresh: 0, checks: 0, rest: 0, ...options }, list(successes.length));
    const outcomes = (place: number) => Array.from({ length: groupSize }, (_, i) => i < successes[place]);
    await step(guide, successes.length, outcomes);
    const counts = successes.map(() => 0);
    for (let i = 0; i < 1500; i++) for (const place of await step(guide, 1, outcomes)) counts[place]++;
    return counts;
  }

  test("may prefer what is seldom solved, by the curves of Absolute Zero and of SSR", async () => {
    for (const weight of [absoluteZeroProposer, ssrInjector]) {
      const [seldom, half, often] = await picked({ weight }, [1, 4, 7]);
      expect(seldom).toBeGreaterThan(half);
      expect(half).toBeGreaterThan(often);
    }
    const [seldom, half, often] = await picked({ weight: rZeroChallenger }, [1, 4, 7]);
    expect(half).toBeGreaterThan(Math.max(seldom, often));
  });

  test("is 0 where a curve is below, and then a task is no more than checked", async () => {
    const [, never] = await picked({ weight: ssrInjector }, [2, 7]);
    expect(never).toBe(0);
  });

  test("is that of failed tasks, too, where they are to come again", async () => {
    const weight = (p: number) => 1 - p;
    const [failedOften, half] = await picked({ weight, retriesUnsolved: true }, [0, 4]);
    // (s + 1) / (n + 2) tends to 1 / 18 and 1 / 2 with sixteen attempts remembered
    expect(failedOften / half).toBeGreaterThan(1.5);
    expect(failedOften / half).toBeLessThan(2.4);
    expect((await picked({ weight }, [0, 4]))[0]).toBe(0);
  });

  test("that is no number is refused", () => {
    expect(() => learnability({ weight: () => Number.NaN })).toThrow(/finite/);
  });
});
