import { describe, expect, test } from "vitest";
import { byteTokenizer } from "../../policy/byte-tokenizer.ts";
import { compactRenderer } from "../../policy/compact-renderer.ts";
import { createRng } from "../../random.ts";
import type { Rollout } from "../../rollout/rollout.ts";
import { type GroupOptions, runGroup } from "../../rollout/run-group.ts";
import { learnable } from "../../schema/trajectory-group.ts";
import { generated } from "../../task/generated.ts";
import { defineEnv } from "../define-env.ts";
import { type ScriptedEngineOptions, scriptedEngine } from "./contract/scripted-engine.ts";

const tokenizer = byteTokenizer();
const renderer = compactRenderer({ tokenizer });

/** A die is thrown when the world is made, and again after each turn. */
const dice = defineEnv<{ side: number }, { thrown: number[] }>({
  name: "dice",
  tasks: generated((rng) => ({ side: rng.integer(6) })),
  start({ rng }) {
    const thrown = [rng.integer(1_000_000)];
    return { state: { thrown }, say: `${thrown}` };
  },
  act({ state, rng }) {
    state.thrown.push(rng.integer(1_000_000));
    return { say: `${state.thrown.at(-1)}` };
  },
  score: ({ turns }) => Number(turns[0].text),
  limits: { turns: 3 },
});

/** Says a digit that depends on the seed of the turn alone. */
const byChance: ScriptedEngineOptions["says"] = ({ seed }) => `${createRng(seed).integer(10)}`;

async function run(says: ScriptedEngineOptions["says"], options: Partial<GroupOptions> = {}) {
  const policy = scriptedEngine({ tokenizer, renderer, says });
  const seen: Rollout[] = [];
  const given = { id: "g", seed: 7, size: 6, ...options };
  const group = await runGroup(dice, await dice.tasks.at("train", 2), policy, {
    ...given,
    onRollout: (rollout) => seen.push(rollout),
  });
  return { ...group, samples: policy.samples, seen };
}

/** In its second turn. */
const failsOnce = (id: string): ScriptedEngineOptions["says"] => {
  return (request, turn) => {
    if (request.rollout === `${id}/agent` && turn === 1) throw new Error("a hiccup");
    return "1";
  };
};

describe("a group", () => {
  test("meets one world with different words", async () => {
    const { rollouts, trajectories, samples, task } = await run(byChance);
    expect(trajectories.map(({ id }) => id)).toEqual(Array.from({ length: 6 }, (_, i) => `g/${i}/agent`));
    expect(new Set(rollouts.map((each) => each.task))).toEqual(new Set([task]));
    const heard = trajectories.map(({ turns }) => turns.map(({ observation }) => observation).join());
    expect(new Set(heard).size).toBe(1);
    expect(new Set(samples.map(({ request }) => request.seed)).size).toBe(18);
    expect(new Set(trajectories.map(({ turns }) => turns.map(({ text }) => text).join())).size).toBeGreaterThan(3);
  });

  test("is the same when it is repeated, whatever runs beside it, and another with another seed", async () => {
    const told = async (options: Partial<GroupOptions>) => {
      const { trajectories } = await run(byChance, options);
      return trajectories.map(({ tokens_T, mask_T, score, stop }) => ({ tokens_T, mask_T, score, stop }));
    };
    const first = await told({});
    expect(await told({})).toEqual(first);
    expect(await told({ concurrency: 1 })).toEqual(first);
    expect(await told({ seed: 8 })).not.toEqual(first);
    expect(await told({ id: "h" })).not.toEqual(first);
  });

  test("has eight attempts unless told otherwise", async () => {
    const policy = scriptedEngine({ tokenizer, renderer, says: ["1"] });
    const { rollouts } = await runGroup(dice, await dice.tasks.at("train", 0), policy, { id: "g", seed: 1 });
    expect(rollouts).toHaveLength(8);
  });

  test.each([0, 1.5, Number.NaN])("of size %s is refused", async (size) => {
    await expect(run(["1"], { size })).rejects.toThrow(`bad-group-size: got ${size}`);
  });

  test("passes limits and temperature on to each attempt", async () => {
    const { trajectories, samples } = await run(byChance, { limits: { turns: 2 }, temperature: 0.5, size: 2 });
    expect(trajectories.map(({ turns, temperature }) => [turns.length, temperature])).toEqual([
      [2, 0.5],
      [2, 0.5],
    ]);
    expect(samples[0].request.temperature).toBe(0.5);
  });
});

describe("an attempt that ended in an infrastructure failure", () => {
  test("is made again with other chance, and everyone hears of both", async () => {
    const { rollouts, seen, samples, trajectories } = await run(failsOnce("g/2"));
    expect(rollouts.map(({ id }) => id)).toEqual(["g/0", "g/1", "g/2~1", "g/3", "g/4", "g/5"]);
    expect(seen.map(({ id, stop }) => `${id} ${stop}`)).toEqual(
      expect.arrayContaining(["g/2 engine-error", "g/2~1 max-turns"]),
    );
    expect(seen).toHaveLength(7);
    expect(trajectories.map(({ stop }) => stop)).toEqual(Array(6).fill("max-turns"));
    // 18 of the attempts that count, and one of the attempt that failed after it
    expect(new Set(samples.map(({ request }) => request.seed)).size).toBe(19);
  });

  test("is kept, not learned from, when it fails again", async () => {
    const says: ScriptedEngineOptions["says"] = (request, turn) => {
      if (request.rollout!.startsWith("g/2") && turn === 1) throw new Error("broken");
      return "1";
    };
    const group = await run(says, { retries: 2 });
    expect(group.seen.filter(({ stop }) => stop === "engine-error").map(({ id }) => id)).toEqual([
      "g/2",
      "g/2~1",
      "g/2~2",
    ]);
    expect(group.rollouts[2]).toMatchObject({
      id: "g/2~2",
      stop: "engine-error",
      failure: expect.stringMatching("broken"),
    });
    expect(group.trajectories).toHaveLength(6);
    expect(learnable(group).map(({ rollout }) => rollout)).toEqual(["g/0", "g/1", "g/3", "g/4", "g/5"]);
  });

  test("is not made again where that was not asked for, or nobody waits any more", async () => {
    expect((await run(failsOnce("g/2"), { retries: 0 })).rollouts[2]).toMatchObject({ stop: "engine-error" });
    const { seen } = await run(["1"], { signal: AbortSignal.abort() });
    expect(seen.map(({ stop }) => stop)).toEqual(Array(6).fill("cancelled"));
  });

  test("is not the same as one that failed by the policy's doing", async () => {
    const { seen } = await run(["12"], { limits: { turnTokens: 1 } });
    expect(seen.map(({ stop }) => stop)).toEqual(Array(6).fill("max-tokens"));
  });
});
