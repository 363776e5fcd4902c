import { describe, expect, test } from "vitest";
import { type FakeEngine, fakeEngine } from "../engine/fake-engine.ts";
import { defineEnv } from "../env/define-env.ts";
import { createRng } from "../random.ts";
import { fakeTrajectory } from "../schema/fake-trajectory.ts";
import { listed } from "../task/listed.ts";
import { fakeGuideContext } from "./fake-guide-context.ts";
import { guideContract } from "./guide.contract.ts";
import type { Guide, Lease } from "./guide.ts";
import { type OpponentPoolOptions, opponentPool } from "./opponent-pool.ts";

const env = defineEnv<number, object>({
  name: "game",
  tasks: listed({ train: [...Array(40).keys()], test: [0] }),
  start: () => ({ state: {}, say: "?" }),
  roles: ["player", "opponent"],
});

describe("opponent pool", () => guideContract(() => opponentPool({ role: "opponent" }), { env: env as never }));

function make(options: Partial<OpponentPoolOptions> = {}): { guide: Guide<number>; engine: FakeEngine } {
  const engine = fakeEngine({ vocabularySize: 2, distribution: [1, 1] });
  const guide = opponentPool({ role: "opponent", every: 2, size: 3, ...options })({ ...fakeGuideContext(env), engine });
  return { guide, engine };
}

const opponentOf = ({ task }: Lease) => Object(task.annotations?.weights).opponent as string;

async function update(engine: FakeEngine): Promise<void> {
  const forward = await engine.forward({ rows: [{ tokens: [0, 1] }] });
  await engine.backward(forward, { logprobs_B_T: [Float32Array.of(0, 1)] });
  await engine.step({ learningRate: 1 });
}

const went = (lease: Lease<number>) => {
  const id = `${lease.id}/0`;
  const made = { id, rollout: id, taskId: lease.task.id, stop: "completed", role: "player" } as const;
  return { lease, group: { task: lease.task, trajectories: [fakeTrajectory(createRng(0), made, { turns: 0 })] } };
};

/** A step of training: tasks are picked and observed, the policy is updated. Whom they were played against. */
async function step(guide: Guide<number>, engine: FakeEngine, count = 8): Promise<string[]> {
  const leases = await guide.pick(count);
  await guide.observe(leases.map(went));
  await update(engine);
  return leases.map(opponentOf);
}

test("a copy of the policy joins after so many updates, and the oldest leaves when there are too many", async () => {
  const { guide, engine } = make();
  const names: string[][] = [];
  for (let i = 0; i < 9; i++) names.push(await step(guide, engine));
  expect(new Set(names[0])).toEqual(new Set(["guide/opponent-0"]));
  expect(guide.metrics()["guide/opponents"]).toBe(3);
  expect(engine.info.weights.filter((name) => name.startsWith("guide/"))).toEqual([
    "guide/opponent-2",
    "guide/opponent-3",
    "guide/opponent-4",
  ]);
  // half against the newest, the others against any
  expect(names[8].filter((name) => name === "guide/opponent-4").length).toBeGreaterThan(2);
  expect(new Set(await step(guide, engine, 40)).size).toBe(3);
});

test("who is in the middle of a game stays until it is over", async () => {
  const { guide, engine } = make({ size: 1, every: 1, newest: 1 });
  const [waiting] = await guide.pick(1);
  await update(engine);
  await guide.pick(1);
  expect(engine.info.weights).toContain(opponentOf(waiting));
  await guide.observe([went(waiting)]);
  await update(engine);
  await guide.pick(1);
  expect(engine.info.weights).not.toContain(opponentOf(waiting));
});

test("in a game that goes round in circles, the pool as a whole cannot be exploited where its newest member can", async () => {
  // rock, paper, scissors; a policy plays one of them, and each update is the best answer to the opponents of the step
  const beats = (a: number, b: number) => (a - b + 3) % 3 === 1;
  const gain = (move: number, others: readonly number[]) =>
    others.reduce((sum, other) => sum + (beats(move, other) ? 1 : beats(other, move) ? -1 : 0), 0) / others.length;
  const best = (others: readonly number[]) => [0, 1, 2].toSorted((a, b) => gain(b, others) - gain(a, others))[0];
  const exploited = (others: readonly number[]) => gain(best(others), others);
  const played = async (options: Partial<OpponentPoolOptions>) => {
    const { guide, engine } = make({ every: 1, ...options });
    const moveOf = new Map<string, number>();
    let move = 0;
    for (let i = 0; i < 60; i++) {
      const leases = await guide.pick(32);
      const newest = `guide/opponent-${i}`;
      moveOf.set(newest, move);
      move = best(leases.map((lease) => moveOf.get(opponentOf(lease))!));
      await guide.observe(leases.map(went));
      await update(engine);
    }
    const members = engine.info.weights.filter((name) => name.startsWith("guide/"));
    return exploited(members.map((name) => moveOf.get(name)!));
  };
  expect(await played({ size: 1, newest: 1 })).toBe(1);
  expect(await played({ size: 60, newest: 0 })).toBeLessThan(0.3);
});

test.each([{ every: 0 }, { size: 0 }, { newest: 2 }, { role: "player" }, { role: "nobody" }, { sice: 3 }])(
  "refuses %j",
  (options) => {
    expect(() => make(options as object)).toThrow(/opponentPool/);
  },
);
