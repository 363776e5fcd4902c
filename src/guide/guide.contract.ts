import { expect, test } from "vitest";
import { defineEnv } from "../env/define-env.ts";
import type { Env } from "../env/env.ts";
import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { createRng, type Rng } from "../random.ts";
import { fakeTrajectory } from "../schema/fake-trajectory.ts";
import type { Task } from "../schema/task.ts";
import { makeTrajectoryGroup, type TrajectoryGroup } from "../schema/trajectory-group.ts";
import { listed } from "../task/listed.ts";
import { hashText } from "../task/seeds.ts";
import { fakeGuideContext } from "./fake-guide-context.ts";
import type { ExtraGroups, Guide, Lease, LeasedGroup, MakeGuide } from "./guide.ts";

export interface GuideContractOptions {
  /** What tasks come from; an environment of 26 letters by default. Nothing is rolled out in it. */
  readonly env?: Env;
}

const knownGuideContractOptions: KnownOptions<GuideContractOptions> = { env: true };

const letters = defineEnv({
  name: "letters",
  tasks: listed({ train: [..."abcdefghijklmnopqrstuvwxyz"], test: ["z"] }),
  start: ({ task }) => ({ state: {}, say: `Say ${task}.` }),
});

/** The promises of `Guide`. Call it inside a `describe` of each guide; `make` makes it as a configuration would. */
export function guideContract(make: () => MakeGuide, options: GuideContractOptions = {}): void {
  refuseUnknownOptions("guideContract", options, knownGuideContractOptions);
  const env = options.env ?? (letters as Env);
  const fresh = () => make()(fakeGuideContext(env, 7));
  const resumed = (guide: Guide) => {
    const other = fresh();
    other.restore(JSON.parse(JSON.stringify(guide.state())));
    return other;
  };

  test("picks as many as asked for, each with an id of its own, also where picks overlap", async () => {
    const guide = fresh();
    expect(await guide.pick(0)).toEqual([]);
    const overlapping = await Promise.all([guide.pick(3), guide.pick(2)]);
    expect(overlapping.map(({ length }) => length)).toEqual([3, 2]);
    await guide.observe(overlapping[0].map(attempted));
    const ids = [...overlapping, await guide.pick(4)].flat().map(({ id }) => id);
    expect(new Set(ids).size).toBe(9);
  });

  test("the same seed and the same results give the same leases", async () => {
    const [one, other] = [await play(fresh(), moves(1, 20)), await play(fresh(), moves(1, 20))];
    expect(one.log).toEqual(other.log);
  });

  test("a lease is observed once, in any order; one that is not under way is refused and changes nothing", async () => {
    const guide = fresh();
    const [first, second, third] = await guide.pick(3);
    await guide.observe([attempted(third)]);
    const before = JSON.stringify(guide.state());
    const unknown = { ...attempted(first), lease: { id: "no such lease", task: first.task } };
    const wrong = { lease: first, group: { ...attempted(first).group, task: { ...first.task, id: "no such task" } } };
    for (const results of [
      [attempted(third)],
      [attempted(first), attempted(first)],
      [attempted(second), unknown],
      [wrong],
    ]) {
      await expect(observed(guide, results)).rejects.toThrow(LudusError);
    }
    expect(JSON.stringify(guide.state())).toBe(before);
    await guide.observe([attempted(second), attempted(first)]);
    await expect(observed(guide, [attempted(first)])).rejects.toThrow(LudusError);
  });

  test("groups that it adds are groups, under names of their own", async () => {
    const guide = fresh();
    for (let round = 0; round < 4; round++) {
      const results = (await guide.pick(4)).map(attempted);
      const sampled = new Set(results.flatMap(({ group }) => group.trajectories.flatMap(namesOf)));
      for (const { task, trajectories } of await guide.observe(results)) {
        makeTrajectoryGroup(task, trajectories);
        expect(trajectories.flatMap(namesOf).filter((name) => sampled.has(name))).toEqual([]);
      }
    }
  });

  test("resumed at any moment it goes on as if it had never stopped", async () => {
    for (let seed = 0; seed < 3; seed++) {
      const script = moves(seed, 24);
      for (let stop = 0; stop < script.length; stop++) {
        const { guide, underWay } = await play(fresh(), script.slice(0, stop));
        const other = resumed(guide);
        expect(await other.pick(underWay.length)).toEqual(underWay);
        expect(other.state()).toEqual(guide.state());
        const rest = script.slice(stop);
        const [went, wentOn] = [await play(guide, rest, underWay), await play(other, rest, underWay)];
        expect(wentOn.log).toEqual(went.log);
        expect(wentOn.guide.state()).toEqual(went.guide.state());
      }
    }
  });

  test("leases under way come first when it is resumed, in parts and with others behind them", async () => {
    const { guide, underWay } = await play(fresh(), moves(5, 9));
    const more = await guide.pick(3);
    const leases = [...underWay, ...more];
    const other = resumed(guide);
    // a result that arrives before its lease is handed out again counts, too
    await other.observe([attempted(leases[1])]);
    await guide.observe([attempted(leases[1])]);
    const left = [leases[0], ...leases.slice(2)];
    const again = resumed(other);
    expect(await again.pick(1)).toEqual(left.slice(0, 1));
    const [rest, next] = [await again.pick(left.length + 1), await guide.pick(2)];
    expect(rest.slice(0, -2)).toEqual(left.slice(1));
    expect(rest.slice(-2)).toEqual(next);
  });

  test("its state is a value: what happens later does not change it", async () => {
    const { guide, underWay } = await play(fresh(), moves(2, 12));
    const state = guide.state();
    const before = JSON.stringify(state);
    await play(guide, moves(3, 12), underWay);
    expect(JSON.stringify(state)).toBe(before);
  });

  test("a state of something else is refused", () => {
    for (const state of [undefined, null, 3, "state", [], { leases: 3 }]) {
      expect(() => fresh().restore(state)).toThrow();
    }
  });

  test("metrics are finite, under names such as guide/tasks", async () => {
    const guide = fresh();
    const all = [guide.metrics()];
    for (let round = 0; round < 5; round++) {
      await guide.observe((await guide.pick(3)).map(attempted));
      all.push(guide.metrics());
    }
    for (const [name, value] of all.flatMap(Object.entries)) {
      expect(name).toMatch(/^[a-z][a-z-]*\/[a-z][a-z/-]*$/);
      expect(value, name).toSatisfy(Number.isFinite);
    }
  });
}

const namesOf = ({ id, rollout }: { id: string; rollout: string }) => [`id ${id}`, `rollout ${rollout}`];

/** A guide may throw at once or later. */
async function observed(guide: Guide, results: readonly LeasedGroup[]): Promise<ExtraGroups> {
  return guide.observe(results);
}

type Move = { readonly pick: number } | { readonly observe: number } | "metrics";

/** What a run may do with a guide; `observe` is how many of those under way, `rng` says which. */
function moves(seed: number, count: number): Move[] {
  const rng = createRng(seed);
  return Array.from({ length: count }, (): Move => {
    const kind = rng.integer(5);
    if (kind === 0) return "metrics";
    return kind < 3 ? { pick: 1 + rng.integer(3) } : { observe: 1 + rng.integer(4) };
  });
}

interface Played {
  readonly guide: Guide;
  readonly underWay: readonly Lease[];
  /** All that the guide said. */
  readonly log: readonly unknown[];
}

async function play(guide: Guide, script: readonly Move[], given: readonly Lease[] = []): Promise<Played> {
  const underWay = [...given];
  const log: unknown[] = [];
  for (const [i, move] of script.entries()) {
    if (move === "metrics") log.push(guide.metrics());
    else if ("pick" in move) {
      const leases = await guide.pick(move.pick);
      underWay.push(...leases);
      log.push(leases);
    } else log.push(await guide.observe(taken(underWay, move.observe, createRng(i)).map(attempted)));
  }
  return { guide, underWay, log };
}

function taken(underWay: Lease[], count: number, rng: Rng): Lease[] {
  const many = Math.min(count, underWay.length);
  return Array.from({ length: many }, () => underWay.splice(rng.integer(underWay.length), 1)[0]);
}

/** Two attempts; which tasks are solved, and how often, follows from the lease. */
function attempted<Data>(lease: Lease<Data>): LeasedGroup<Data> {
  const hash = hashText(`${lease.id} ${lease.task.id}`);
  return { lease, group: attempts(lease.task, lease.id, [hash % 3 === 0 ? 1 : 0, hash % 4 === 0 ? 1 : 0]) };
}

function attempts<Data>(task: Task<Data>, lease: string, rewards: readonly number[]): TrajectoryGroup<Data> {
  const trajectories = rewards.map((total, i) =>
    fakeTrajectory(createRng(i), {
      id: `${lease}/${i}/agent`,
      rollout: `${lease}/${i}`,
      taskId: task.id,
      stop: "completed",
      score: { total, parts: {}, success: total === 1 },
    }),
  );
  return { task, trajectories };
}
