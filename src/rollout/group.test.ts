import { expect, test } from "vitest";
import { createRng } from "../random.ts";
import { fakeTrajectory } from "../schema/fake-trajectory.ts";
import { type Attempt, group } from "./group.ts";

const task = { id: "t", seed: 3, data: { question: "2+2" } };
const trajectory = (rollout: string, fields = {}) =>
  fakeTrajectory(createRng(1), { id: rollout, rollout, taskId: "t", ...fields });
const soon = () => new Promise<void>((resolve) => setImmediate(resolve));

test("attempts are kept in order, each with a seed of its own, the same in every run", async () => {
  const run = async (id: string) => {
    const attempts: Attempt[] = [];
    const made = await group({ ...task, id }, 4, async ({ data }, attempt) => {
      attempts.push(attempt);
      expect(data.question).toBe("2+2");
      for (let i = attempt.index; i < 4; i++) await soon();
      return trajectory(`${attempt.index}`, { taskId: id });
    });
    expect(made.trajectories.map(({ rollout }) => rollout)).toEqual(["0", "1", "2", "3"]);
    return attempts.map(({ seed }) => seed);
  };
  const seeds = await run("t");
  expect(new Set(seeds).size).toBe(4);
  expect(await run("t")).toEqual(seeds);
  expect(await run("u")).not.toEqual(seeds);
});

test("an attempt may have several trajectories that weigh one together", async () => {
  const halves = async (_: unknown, { index }: Attempt) =>
    [0.25, 0.75].map((weight) => trajectory(`${index}`, { weight }));
  expect((await group(task, 2, halves)).trajectories.map(({ weight }) => weight)).toEqual([0.25, 0.75, 0.25, 0.75]);
  const tooLight = async (_: unknown, { index }: Attempt) => trajectory(`${index}`, { weight: 0.5 });
  await expect(group(task, 2, tooLight)).rejects.toThrow("bad-group");
});

test("a trajectory of another task is refused", async () => {
  await expect(group(task, 1, async () => trajectory("0", { taskId: "other" }))).rejects.toThrow("bad-group");
});

test.each<[string, () => Promise<void> | undefined]>([
  ["throws at once", () => undefined],
  ["throws later", soon],
])("what an attempt %s is thrown when the others have ended", async (_, wait) => {
  let ended = 0;
  const work = (_: unknown, { index }: Attempt) => {
    const fail = (): never => {
      throw new Error("agent broke");
    };
    if (index === 1) return wait()?.then(fail) ?? fail();
    return soon()
      .then(soon)
      .then(() => trajectory(`${++ended}`));
  };
  await expect(group(task, 4, work)).rejects.toThrow("agent broke");
  expect(ended).toBe(3);
});
