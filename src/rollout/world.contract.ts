import { describe, expect, test } from "vitest";
import { defined } from "../defined.ts";
import { delegate } from "../engine/delegate.ts";
import { fakeEngine } from "../engine/fake-engine.ts";
import { byteTokenizer } from "../policy/byte-tokenizer.ts";
import { compactRenderer } from "../policy/compact-renderer.ts";
import { isInfrastructureStop } from "../schema/stop-reason.ts";
import type { Task } from "../schema/task.ts";
import { makeTrajectory, type Trajectory } from "../schema/trajectory.ts";
import type { Limits } from "./limits.ts";
import type { Policy, Rollout } from "./rollout.ts";
import type { World } from "./world.ts";

const limitNames = ["turns", "tokens", "turnTokens", "toolMs", "envMs", "episodeMs", "observationChars"] as const;
const attempts = 6;

/** The promises of `World`. `make` makes one as a training run would; tasks of its "train" split are attempted by a policy that babbles. */
export function worldContract(name: string, make: () => World): void {
  describe(`${name} keeps the world contract`, () => {
    test("says what it is", () => {
      const { name, description, roles, limits, format, hasStateKeys } = make();
      expect([typeof name, typeof description, typeof format.name, typeof hasStateKeys]).toEqual([
        "string",
        "string",
        "string",
        "boolean",
      ]);
      expect(roles.length).toBeGreaterThan(0);
      expect(new Set(roles).size).toBe(roles.length);
      const wrong = limitNames.filter((limit: keyof Limits) => !(limits[limit] > 0));
      expect(wrong, "limits that are no numbers above 0").toEqual([]);
    });

    test("an attempt is a rollout under its own name, whose tokens are those that were sampled", async () => {
      const world = make();
      for (let i = 0; i < attempts; i++) {
        const { policy, sampled } = babbler();
        const rollout = await attempt(world, policy, i);
        expect(rollout).toMatchObject({ id: `contract/${i}`, task: { id: (await taskOf(world, i)).id } });
        expect(isInfrastructureStop(rollout.stop), rollout.failure).toBe(false);
        for (const trajectory of rollout.trajectories) checkTrajectory(world, rollout, trajectory);
        for (const [, ofRole] of Map.groupBy(rollout.trajectories, ({ role }) => role)) {
          expect(ofRole.reduce((sum, { weight }) => sum + weight, 0)).toBeCloseTo(1, 9);
        }
        expect(rollout.trajectories.flatMap(sampledTokens).sort()).toEqual([...sampled].sort());
      }
    });

    test("an attempt with the same seed is the same, alone and beside others", async () => {
      const world = make();
      const { policy } = babbler();
      const alone: unknown[] = [];
      for (let i = 0; i < attempts; i++) alone.push(outcome(await attempt(world, policy, i)));
      const together = await Promise.all(Array.from({ length: attempts }, (_, i) => attempt(make(), policy, i)));
      expect(together.map(outcome)).toEqual(alone);
      const shared = await Promise.all(Array.from({ length: attempts }, (_, i) => attempt(world, policy, i)));
      expect(shared.map(outcome)).toEqual(alone);
    });

    test("an attempt releases the KV caches that it named", async () => {
      const { policy, named, released } = babbler();
      await attempt(make(), policy, 0);
      expect(named.size, "engine.sample was asked with `rollout`").toBeGreaterThan(0);
      expect([...named].filter((rollout) => !released.has(rollout))).toEqual([]);
    });

    test("an engine that fails is the attempt's stop reason, and its text is told", async () => {
      const { policy } = babbler(() => {
        throw new Error("the engine is gone");
      });
      const rollout = await attempt(make(), policy, 0);
      expect(rollout.stop).toBe("engine-error");
      expect(rollout.failure).toContain("the engine is gone");
    });

    test("an attempt that is cancelled ends, before it begins and while it waits for the engine", async () => {
      const before = AbortSignal.abort();
      expect((await attempt(make(), babbler().policy, 0, before)).stop).toBe("cancelled");
      const controller = new AbortController();
      const { policy } = babbler(() => {
        controller.abort();
        return new Promise<void>(() => {});
      });
      expect((await attempt(make(), policy, 0, controller.signal)).stop).toBe("cancelled");
    });

    test("a demonstration is what the expert said, counted as sampled", async () => {
      const world = make();
      const task = await taskOf(world, 0);
      const play = async () => {
        const { policy } = babbler();
        const played = await world.demonstrate?.(task, policy, { id: "contract/0", seed: 1, noise: 0.5 });
        return played?.score();
      };
      const rollout = await play();
      if (rollout === undefined) return;
      expect(rollout.trajectories.flatMap(sampledTokens).length).toBeGreaterThan(0);
      for (const trajectory of rollout.trajectories) checkTrajectory(world, rollout, trajectory);
      expect(outcome((await play())!)).toEqual(outcome(rollout));
    });

    test("gives sample texts, the same for the same seed", async () => {
      const texts = await make().sampleTexts(3, 5);
      expect(texts.flat().every((text) => typeof text === "string")).toBe(true);
      expect(await make().sampleTexts(3, 5)).toEqual(texts);
    });
  });
}

const taskOf = (world: World, index: number): Promise<Task> => Promise.resolve(world.tasks.at("train", index));

async function attempt(world: World, policy: Policy, index: number, signal?: AbortSignal): Promise<Rollout> {
  const options = { id: `contract/${index}`, seed: index, ...defined({ signal }) };
  return (await world.attempt(await taskOf(world, index), policy, options)).score();
}

/** Says random letters and digits, and now and then the end of its turn. */
function babbler(beforeSample: () => Promise<void> | void = () => {}) {
  const tokenizer = byteTokenizer();
  const renderer = compactRenderer({ tokenizer });
  const distribution: number[] = Array.from({ length: tokenizer.vocabularySize }, (_, token) =>
    /[a-z0-9]/.test(String.fromCharCode(token)) ? 1 : 0,
  );
  for (const token of renderer.stopTokens) distribution[token] = 12;
  const engine = fakeEngine({ vocabularySize: distribution.length, distribution, beforeSample });
  const sampled: number[] = [];
  const [named, released] = [new Set<string>(), new Set<string>()];
  const watched = delegate(engine, {
    async sample(request, signal) {
      if (request.rollout !== undefined) named.add(request.rollout);
      const sample = await engine.sample(request, signal);
      sampled.push(...sample.tokens);
      return sample;
    },
    async release({ rollout }) {
      if (rollout !== undefined) released.add(rollout);
    },
  });
  const policy: Policy = { engine: watched, renderer, tokenizer };
  return { policy, sampled, named, released };
}

function checkTrajectory({ roles }: World, { id, task, stop }: Rollout, trajectory: Trajectory): void {
  makeTrajectory(trajectory);
  expect(trajectory).toMatchObject({ rollout: id, taskId: task.id, stop });
  expect(roles).toContain(trajectory.role);
}

const sampledTokens = ({ tokens_T, mask_T }: Trajectory) => [...tokens_T].filter((_, t) => mask_T[t] === 1);

function outcome({ trajectories, stop, failure }: Rollout) {
  return { stop, failure, trajectories };
}
