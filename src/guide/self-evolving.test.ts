import { describe, expect, test } from "vitest";
import { defineEnv } from "../env/define-env.ts";
import { createRng } from "../random.ts";
import { fakeTrajectory } from "../schema/fake-trajectory.ts";
import { generated } from "../task/generated.ts";
import { fakeGuideContext } from "./fake-guide-context.ts";
import { guideContract } from "./guide.contract.ts";
import type { Guide, Lease, MakeGuide } from "./guide.ts";
import { inOrder } from "./in-order.ts";
import { type SelfEvolvingOptions, selfEvolving } from "./self-evolving.ts";

/** The data of a task is how hard it is. */
const env = defineEnv<number, object>({
  name: "ladder",
  tasks: generated((rng) => rng.next() * 100),
  start: () => ({ state: {}, say: "?" }),
});
const vary = (difficulty: number, rng: { next(): number }) => difficulty + 2 * rng.next() - 0.5;
const make = (options: Partial<SelfEvolvingOptions<number>> = {}) =>
  selfEvolving<number>({ vary, ...options })(fakeGuideContext(env));

describe("self-evolving tasks", () => {
  const vary = (letter: string) => `${letter}'`;
  guideContract(() => selfEvolving<string>({ vary, parents: 3 }));
});

function went(lease: Lease<number>, outcomes: readonly boolean[], stop: "completed" | "env-crash" = "completed") {
  const trajectories = outcomes.map((success, i) => {
    const id = `${lease.id}/${i}`;
    const score = { total: Number(success), parts: {}, success };
    return fakeTrajectory(createRng(i), { id, rollout: id, taskId: lease.task.id, stop, score }, { turns: 0 });
  });
  return { lease, group: { task: lease.task, trajectories } };
}

test("tasks whose attempts succeed sometimes have descendants that name them; others have none", async () => {
  const guide = make({ evolved: 0.5 });
  const first = await guide.pick(4);
  expect(first.every(({ task }) => task.parent === undefined)).toBe(true);
  const outcomes = [[true, false], [true, true], [false, false], []];
  await guide.observe(
    first.map((lease, i) =>
      went(lease, outcomes[i].length > 0 ? outcomes[i] : [true], i === 3 ? "env-crash" : "completed"),
    ),
  );
  expect(guide.metrics()["guide/parents"]).toBe(1);
  const next = await guide.pick(8);
  const evolved = next.filter(({ task }) => task.parent !== undefined);
  expect(evolved).toHaveLength(4);
  expect(new Set(evolved.map(({ task }) => task.parent))).toEqual(new Set([first[0].task.id]));
  expect(new Set(next.map(({ task }) => task.id)).size).toBe(8);
});

test("where nothing can be made of a task, one of the split comes instead", async () => {
  const guide = make({ vary: () => undefined, evolved: 1 });
  await guide.observe((await guide.pick(2)).map((lease) => went(lease, [true, false])));
  expect((await guide.pick(3)).every(({ task }) => task.parent === undefined)).toBe(true);
});

/** A policy with a skill that solves what is about as hard as that or easier, and learns where attempts differ. */
async function skillAfter(steps: number, makeGuide: MakeGuide): Promise<number> {
  const guide: Guide<number> = makeGuide(fakeGuideContext(env));
  const rng = createRng(5);
  let skill = 3;
  for (let i = 0; i < steps; i++) {
    const leases = await guide.pick(8);
    const results = leases.map((lease) => {
      const rate = 1 / (1 + Math.exp(lease.task.data - skill));
      return went(
        lease,
        Array.from({ length: 8 }, () => rng.next() < rate),
      );
    });
    for (const { group } of results) {
      if (new Set(group.trajectories.map(({ score }) => score.success)).size === 2) skill += 0.05;
    }
    await guide.observe(results);
  }
  return skill;
}

test("a policy that can learn from few tasks of a split learns more from their descendants", async () => {
  const [plain, evolved] = [await skillAfter(100, inOrder()), await skillAfter(100, selfEvolving<number>({ vary }))];
  expect(plain - 3).toBeLessThan(4);
  expect((evolved - 3) / (plain - 3)).toBeGreaterThan(3);
});

test.each([{ keep: [0.8, 0.2] }, { evolved: 2 }, { parents: 0 }, { vary: 3 }, { varry: vary }])(
  "refuses %j",
  (options) => {
    expect(() => make(options as object)).toThrow(/selfEvolving/);
  },
);
