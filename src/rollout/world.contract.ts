import { describe, expect, test } from "vitest";
import { infrastructureStops, policyStops } from "../schema/stop-reason.ts";
import { makeTrajectory } from "../schema/trajectory.ts";
import type { Policy } from "./rollout.ts";
import { demonstrate, runRollout } from "./run-rollout.ts";
import type { World } from "./world.ts";

export interface WorldCase {
  readonly world: World;
  /** A policy that can be asked in it, whatever it says. */
  policy(): Policy;
}

/** The promises of `World`: what training, evaluation and demonstrations rely on. Call it from a test file of each kind of world. */
export function worldContract(name: string, make: () => WorldCase): void {
  describe(`${name} keeps the world contract`, () => {
    const taskOf = (world: World) => world.tasks.at("train", 0);

    test("it says what it is", () => {
      const { world } = make();
      expect(world.name).not.toBe("");
      expect(world.roles.length).toBeGreaterThan(0);
      expect(Object.values(world.limits).every((limit) => limit > 0)).toBe(true);
    });

    test("an attempt is played, then scored, and has the trajectories of who spoke", async () => {
      const { world, policy } = make();
      const task = await taskOf(world);
      const played = await world.attempt(task, policy(), { id: "a", seed: 1 });
      expect(played).toMatchObject({ id: "a", task });
      const rollout = await played.score();
      expect([...policyStops, ...infrastructureStops]).toContain(rollout.stop);
      for (const { taskId, rollout: of, role, score, mask_T } of rollout.trajectories) {
        expect([taskId, of]).toEqual([task.id, "a"]);
        expect(world.roles).toContain(role);
        expect(Number.isFinite(score.total)).toBe(true);
        expect(mask_T).toContain(1);
      }
    });

    test("scoring again gives the same rollout", async () => {
      const { world, policy } = make();
      const played = await world.attempt(await taskOf(world), policy(), { id: "a", seed: 1 });
      expect(await played.score()).toBe(await played.score());
    });

    test("the same task, policy and seed give the same tokens", async () => {
      const tokens = async () => {
        const { world, policy } = make();
        const { trajectories } = await runRollout(world, await taskOf(world), policy(), { id: "a", seed: 7 });
        return trajectories.map(({ tokens_T }) => [...tokens_T]);
      };
      expect(await tokens()).toEqual(await tokens());
    });

    test("an attempt that is cancelled says so, and does not throw", async () => {
      const { world, policy } = make();
      const options = { id: "a", seed: 1, signal: AbortSignal.abort() };
      expect((await runRollout(world, await taskOf(world), policy(), options)).stop).toBe("cancelled");
    });

    test("an attempt that is cancelled while it waits for the engine ends", async () => {
      const { world, policy } = make();
      const controller = new AbortController();
      const { policy: waiting } = watched(policy(), () => {
        controller.abort();
        return new Promise<void>(() => {});
      });
      const options = { id: "a", seed: 1, signal: controller.signal };
      expect((await runRollout(world, await taskOf(world), waiting, options)).stop).toBe("cancelled");
    });

    test("what is learned from is what was sampled, and its KV caches are released", async () => {
      const { world, policy: makePolicy } = make();
      const { policy, sampled, named, released } = watched(makePolicy());
      const { trajectories } = await runRollout(world, await taskOf(world), policy, { id: "a", seed: 1 });
      for (const trajectory of trajectories) makeTrajectory(trajectory);
      const learned = trajectories.flatMap(({ tokens_T, mask_T }) => [...tokens_T].filter((_, t) => mask_T[t] === 1));
      expect(learned.sort()).toEqual(sampled.sort());
      expect([...named].filter((rollout) => !released.has(rollout))).toEqual([]);
    });

    test("attempts beside each other are what they are alone", async () => {
      const { world, policy } = make();
      const play = async (seed: number) => {
        const task = await world.tasks.at("train", seed);
        return (await runRollout(world, task, policy(), { id: `${seed}`, seed })).trajectories;
      };
      const together = await Promise.all([0, 1, 2, 3].map(play));
      for (const [seed, trajectories] of together.entries()) expect(trajectories).toEqual(await play(seed));
    });

    test("an engine that fails ends its own attempt", async () => {
      const { world, policy } = make();
      const working = policy();
      const engine = { ...working.engine, info: working.engine.info, sample: () => Promise.reject(new Error("gone")) };
      const broken: Policy = { ...working, engine: { ...engine, release: async () => {} } };
      const rollout = await runRollout(world, await taskOf(world), broken, { id: "a", seed: 1 });
      expect(rollout.stop).toBe("engine-error");
      expect(rollout.failure).toContain("gone");
    });

    test("demonstrations are rollouts that were not sampled", async () => {
      const { world, policy } = make();
      if (world.demonstrate === undefined) return;
      const { renderer, tokenizer } = policy();
      const engine = { info: { contextLength: 100_000 } };
      const renderContext = tokenizer === undefined ? { renderer, engine } : { renderer, tokenizer, engine };
      const shown = await demonstrate(world, await taskOf(world), renderContext, { id: "d", seed: 1 });
      expect(shown.trajectories.length).toBeGreaterThan(0);
      for (const { logprobs_T } of shown.trajectories) expect(logprobs_T.every((logprob) => logprob === 0)).toBe(true);
    });

    test("texts of sample episodes are there for tokenizers, the same for the same seed", async () => {
      const texts = await make().world.sampleTexts(4, 3);
      expect(texts).toHaveLength(4);
      expect(texts.flat().every((text) => typeof text === "string")).toBe(true);
      expect(await make().world.sampleTexts(4, 3)).toEqual(texts);
    });

    test("an opening is what the first role reads, where it is told", async () => {
      const { world } = make();
      const opening = await world.opening?.(await taskOf(world));
      if (opening !== undefined) expect(opening.messages.length).toBeGreaterThan(0);
    });
  });
}

/** The same policy, and what it sampled and released. */
function watched(policy: Policy, beforeSample: () => Promise<void> | void = () => {}) {
  const { engine } = policy;
  const sampled: number[] = [];
  const [named, released] = [new Set<string>(), new Set<string>()];
  const watching: Policy["engine"] = {
    info: engine.info,
    async sample(request, signal) {
      if (request.rollout !== undefined) named.add(request.rollout);
      await beforeSample();
      const sample = await engine.sample(request, signal);
      sampled.push(...sample.tokens);
      return sample;
    },
    async release(kept) {
      if (kept.rollout !== undefined) released.add(kept.rollout);
      await engine.release(kept);
    },
  };
  return { policy: { ...policy, engine: watching }, sampled, named, released };
}
