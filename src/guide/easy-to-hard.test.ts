import { describe, expect, test } from "vitest";
import { defineEnv } from "../env/define-env.ts";
import { createRng } from "../random.ts";
import { fakeTrajectory } from "../schema/fake-trajectory.ts";
import { listed } from "../task/listed.ts";
import { type EasyToHardOptions, easyToHard } from "./easy-to-hard.ts";
import { fakeGuideContext } from "./fake-guide-context.ts";
import { guideContract } from "./guide.contract.ts";
import type { Guide, Lease, LeasedGroup } from "./guide.ts";

/** The data of a task is its level. */
const envOf = (levels: readonly number[]) =>
  defineEnv<number, object>({
    name: "levels",
    tasks: listed({ train: levels, test: [0] }),
    start: () => ({ state: {}, say: "?" }),
  });
const env = envOf([2, 0, 1, 0, 2, 1]);
const level = ({ data }: { data: unknown }) => data as number;
const make = (options: Partial<EasyToHardOptions> = {}, world = env) =>
  easyToHard({ levels: 3, level, window: 4, ...options })(fakeGuideContext(world));

describe("easy to hard", () => guideContract(() => easyToHard({ levels: 3, level, window: 2 }), { env: env as never }));

function went(lease: Lease<number>, outcomes: readonly boolean[], stop: "completed" | "env-crash" = "completed") {
  const trajectories = outcomes.map((success, i) => {
    const id = `${lease.id}/${i}`;
    const score = { total: Number(success), parts: {}, success };
    return fakeTrajectory(createRng(i), { id, rollout: id, taskId: lease.task.id, stop, score }, { turns: 0 });
  });
  return { lease, group: { task: lease.task, trajectories } } satisfies LeasedGroup<number>;
}

async function step(guide: Guide<number>, count: number, solved: (level: number) => boolean): Promise<number[]> {
  const leases = await guide.pick(count);
  await guide.observe(leases.map((lease) => went(lease, [true, solved(lease.task.data)])));
  return leases.map(({ task }) => task.data);
}

test("the next level opens when the one before is solved often enough, and easier ones are reviewed", async () => {
  const guide = make({ threshold: 0.9, review: 0.25 });
  expect(await step(guide, 4, () => false)).toEqual([0, 0, 0, 0]);
  expect(guide.metrics()["guide/level"]).toBe(0);
  expect(await step(guide, 4, () => true)).toEqual([0, 0, 0, 0]);
  expect(guide.metrics()["guide/level"]).toBe(1);
  expect((await step(guide, 4, () => true)).toSorted()).toEqual([0, 1, 1, 1]);
  await step(guide, 4, () => true);
  expect(guide.metrics()["guide/level"]).toBe(2);
  const last = [...(await step(guide, 4, () => true)), ...(await step(guide, 4, () => true))];
  expect(last.filter((each) => each === 2)).toHaveLength(6);
  // there is no further level
  expect(guide.metrics()["guide/level"]).toBe(2);
});

test("attempts that failed to run say nothing", async () => {
  const guide = make({ window: 1, threshold: 0.5 });
  await guide.observe((await guide.pick(3)).map((lease) => went(lease, [true], "env-crash")));
  expect(guide.metrics()["guide/level"]).toBe(0);
});

test("a level that a source does not have gives way to the nearest easier one", async () => {
  const guide = make({ window: 1, threshold: 0, search: 8 }, envOf([2, 0, 2, 0]));
  expect(await step(guide, 1, () => true)).toEqual([0]);
  expect(await step(guide, 1, () => true)).toEqual([0]);
});

test("a task without a level is an error that says so", async () => {
  await expect(easyToHard({ levels: 3 })(fakeGuideContext(env)).pick(1)).rejects.toThrow(/level undefined of task/);
  await expect(make({ levels: 2 }).pick(1)).rejects.toThrow(/0 to 1/);
});

test.each([{ levels: 0 }, { window: 0 }, { threshold: 2 }, { review: -1 }, { search: 0.5 }, { treshold: 1 }])(
  "refuses %j",
  (options) => {
    expect(() => make(options as object)).toThrow();
  },
);
