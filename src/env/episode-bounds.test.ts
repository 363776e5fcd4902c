import { expect, test } from "vitest";
import { z } from "zod";
import { bounds } from "../bounds.ts";
import { createRng } from "../random.ts";
import { fakeTrajectory } from "../schema/fake-trajectory.ts";
import { makeTrajectory } from "../schema/trajectory.ts";
import { listed } from "../task/listed.ts";
import { defineEnv, type EnvDefinition } from "./define-env.ts";
import { Episode } from "./episode.ts";

const { signal } = new AbortController();
const call = '<tool_call>{"name": "look", "arguments": {}}</tool_call>';

function make(definition: Partial<EnvDefinition<number, object>>, seen = "x".repeat(8_000)) {
  return defineEnv<number, object>({
    name: "flood",
    tasks: listed([1]),
    start: () => ({ state: {}, say: "go" }),
    tools: (tool) => ({ look: tool({ description: "", input: z.object({}), run: () => seen }) }),
    ...definition,
  });
}

async function played(env: ReturnType<typeof make>, text: string) {
  const episode = new Episode(env, await env.tasks.at("train", 0), { signal });
  await episode.start();
  const next = await episode.step(text);
  return { next, turn: episode.turns[0], result: await episode.finish("stop" in next ? next : { stop: "completed" }) };
}

test("calls beyond the limit are not made, and the policy is told how many", async () => {
  let made = 0;
  const env = make({
    tools: (tool) => ({ look: tool({ description: "", input: z.object({}), run: () => `seen ${++made}` }) }),
  });
  const { next, turn } = await played(env, call.repeat(2_048));
  expect(made).toBe(bounds.callsPerTurn);
  expect(turn.calls).toHaveLength(bounds.callsPerTurn + 1);
  expect(turn.calls.at(-1)).toMatchObject({
    outcome: "malformed",
    observation: "Error: 1984 calls were not made: a turn may make at most 64.",
  });
  expect(next).toMatchObject({ messages: { length: bounds.callsPerTurn + 1 } });
});

test("the limit is the environment's, and where malformed calls stop it stops", async () => {
  const { turn } = await played(make({ limits: { callsPerTurn: 2 } }), call.repeat(3));
  expect(turn.calls.map(({ outcome }) => outcome)).toEqual(["ok", "ok", "malformed"]);
  const { next } = await played(make({ limits: { callsPerTurn: 2 }, malformed: "stop" }), call.repeat(3));
  expect(next).toEqual({ stop: "parse-error" });
  expect(() => make({ limits: { callsPerTurn: 0 } })).toThrow("bad-env");
});

test("the observations of a turn are bounded together, unless one alone may be longer", async () => {
  const { turn } = await played(make({}), call.repeat(64));
  expect(turn.calls[0].observation).toHaveLength(8_000);
  expect(turn.calls.at(-1)!.observation).toMatch(/^\n\[8000 characters cut\]\n$/);
  expect(turn.observation.length).toBeLessThan(bounds.turnObservationChars + 64 * 30);
  const long = "y".repeat(2 * bounds.turnObservationChars);
  const wide = await played(make({ limits: { observationChars: long.length } }, long), call);
  expect(wide.turn.observation).toBe(long);
});

test("a failure's text of 20 MB is cut, and no character with it", async () => {
  const text = `the database said ${"\u{1f600}".repeat(10_000_000)} and stopped`;
  const fail = () => {
    throw new Error(text);
  };
  for (const env of [
    make({ score: fail }),
    make({ tools: (tool) => ({ look: tool({ input: z.object({}), run: fail }) }) }),
  ]) {
    const { result } = await played(env, call);
    expect(result.failure).toContain("the database said");
    expect(result.failure!.length).toBeLessThanOrEqual(bounds.failureText);
    expect(result.failure!.isWellFormed()).toBe(true);
  }
  const trajectory = makeTrajectory({ ...fakeTrajectory(createRng(1), {}), failure: text });
  expect(trajectory.failure!.length).toBeLessThanOrEqual(bounds.failureText);
});
