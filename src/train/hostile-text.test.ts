import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { fakeEngine } from "../engine/fake-engine.ts";
import { defineEnv } from "../env/define-env.ts";
import { byteTokenizer } from "../policy/byte-tokenizer.ts";
import { compactRenderer } from "../policy/compact-renderer.ts";
import { hermes } from "../policy/formats/hermes.ts";
import type { RunEvent } from "../schema/run-event.ts";
import { openRun } from "../store/index.ts";
import { generated } from "../task/generated.ts";
import { tool } from "../tool/define-tool.ts";
import { fakePolicy } from "./fixtures/fake-policy.ts";
import { letters } from "./fixtures/letters.ts";
import type { LearningPolicy } from "./learning-policy.ts";
import { grpo } from "./presets/grpo.ts";
import { train } from "./train-sync.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ludus-hostile-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

// a hundred brackets a token: the fake engine computes every token of every prefix
const markup = ["[".repeat(100), "]".repeat(100)];
const tokenizer = byteTokenizer({ special: ["<s>", "<e>"], markup, eos: "<e>" });
const renderer = compactRenderer({ tokenizer });
const [speak, end] = [256, 257];

/** Says the text, or now and then `b`. */
function saying(text: string): LearningPolicy {
  const script = renderer.say(text);
  const engine = fakeEngine({
    vocabularySize: tokenizer.vocabularySize,
    tokenBytes: Array.from({ length: tokenizer.vocabularySize }, (_, id) => tokenizer.tokenBytes(id)),
    distribution(tokens) {
      const weights = new Array<number>(tokenizer.vocabularySize).fill(0);
      const begin = tokens.lastIndexOf(speak) + 1;
      if (tokens[begin] === 98) weights[end] = 1;
      else weights[script[tokens.length - begin] ?? end] = 1;
      if (tokens.length === begin) weights[98] = 1;
      return weights;
    },
  });
  return { engine, renderer };
}

function oneCall() {
  return defineEnv({
    name: "one-call",
    tasks: generated(() => ({})),
    start: () => ({ state: {}, say: "go" }),
    tools: { look: tool({ description: "looks", input: z.looseObject({}), run: () => "seen" }) },
    format: hermes(),
    score: ({ turns }) => (turns[0]?.text === "b" ? 1 : 0),
    limits: { turns: 1, turnTokens: 1_000 },
  });
}

const small = { algorithm: grpo({ groupSize: 4 }), steps: 1, tasksPerStep: 1 };

test("arguments nested 3,000 deep are a malformed call of that one trajectory", async () => {
  const deep = `<tool_call>{"name": "look", "arguments": {"a": ${"[".repeat(3000)}${"]".repeat(3000)}}}</tool_call>`;
  const { reason } = await train({ ...small, env: oneCall(), policy: saying(deep), run: folder });
  expect(reason).toBe("finished");
  const store = await openRun(folder, { readOnly: true });
  const { trajectories } = await store.trajectories({ split: "train" });
  const stored = await Promise.all(trajectories.map(({ key }) => store.trajectory(key)));
  await store.close();
  expect(stored).toHaveLength(4);
  const calls = stored.flatMap(({ trajectory }) => trajectory.turns.flatMap((turn) => turn.calls));
  expect(calls.length).toBeGreaterThan(0);
  for (const { outcome, observation } of calls) {
    expect(outcome).toBe("malformed");
    expect(observation).toContain("nested deeper than 128 levels");
  }
});

test("a trajectory that cannot be stored is left out with a warning, and training goes on", async () => {
  const env = letters({ turns: 1 });
  const seen: RunEvent[] = [];
  const spoiled: typeof env = {
    ...env,
    // no JSON holds a BigInt
    act: (context) => ({ ...env.act!(context), ...(context.answer === "a" ? { info: { n: 1n as never } } : {}) }),
  };
  const { reason } = await train({
    ...small,
    env: spoiled,
    steps: 3,
    policy: fakePolicy(),
    run: folder,
    monitors: [{ name: "test", record: (event) => void seen.push(event) }],
  });
  expect(reason).toBe("finished");
  const store = await openRun(folder, { readOnly: true });
  const { trajectories } = await store.trajectories({}, { limit: 100 });
  const texts = await Promise.all(
    trajectories.map(async ({ key }) => (await store.trajectory(key)).trajectory.turns[0].text),
  );
  const warnings = (await store.events({ types: ["warning"] })).map(({ event }) => event);
  const steps = await store.events({ types: ["step-end"] });
  await store.close();
  expect(new Set(texts)).toEqual(new Set(["b"]));
  expect(steps).toHaveLength(3);
  expect(warnings.length).toBeGreaterThan(0);
  expect(warnings).toEqual(seen.filter(({ type }) => type === "warning"));
  for (const warning of warnings) expect(warning).toMatchObject({ message: expect.stringMatching(/stored.*BigInt/) });
});
