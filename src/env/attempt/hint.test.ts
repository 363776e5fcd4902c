import { describe, expect, test } from "vitest";
import { byteTokenizer } from "../../policy/byte-tokenizer.ts";
import { chatRenderer } from "../../policy/chat-renderer.ts";
import { compactRenderer } from "../../policy/compact-renderer.ts";
import { defaultChatTemplate } from "../../policy/default-chat-template.ts";
import type { Renderer } from "../../policy/renderer.ts";
import type { Tokenizer } from "../../policy/tokenizer.ts";
import { trainBpe } from "../../policy/train-bpe.ts";
import { fullContext, lastTurns, observationStubs } from "../../rollout/context.ts";
import { runGroup } from "../../rollout/run-group.ts";
import { demonstrate, runRollout } from "../../rollout/run-rollout.ts";
import type { Message } from "../../schema/message.ts";
import type { Task } from "../../schema/task.ts";
import { hintOf } from "../../schema/trajectory.ts";
import { generated } from "../../task/generated.ts";
import { defineEnv } from "../define-env.ts";
import { checkTokens } from "./contract/check-tokens.ts";
import { scriptedEngine } from "./contract/scripted-engine.ts";

const env = defineEnv<{ word: string }, object>({
  name: "echo",
  tasks: generated(() => ({ word: "open sesame" })),
  system: () => "Say the word.",
  start: () => ({ state: {}, say: "A door. Say the word." }),
  act: ({ task, answer }) => (answer === task.word ? { done: true } : { say: "no, say the word again" }),
  score: ({ task, answer }) => (answer === task.word ? 1 : 0),
  expert: ({ task }) => task.word,
  limits: { turns: 4, turnTokens: 64 },
});

const hint = { kind: "environment", text: "The word is open sesame." };
const opening: Message[] = [
  { role: "system", content: "Say the word." },
  { role: "user", content: "A door. Say the word." },
];
const hintedOpening: Message[] = [opening[0], { role: "user", content: `A door. Say the word.\n${hint.text}` }];

const bytes = byteTokenizer();
const bpe = trainBpe({
  texts: ["A door. Say the word. The word is open sesame. no, say it again"],
  vocabularySize: 300,
});
const renderers: [string, Tokenizer, Renderer][] = [
  ["bytes, compact", bytes, compactRenderer({ tokenizer: bytes })],
  ["bytes, chat", bytes, chatRenderer({ tokenizer: bytes, template: defaultChatTemplate })],
  ["pairs, compact", bpe, compactRenderer({ tokenizer: bpe })],
  ["pairs, chat", bpe, chatRenderer({ tokenizer: bpe, template: defaultChatTemplate })],
];

async function hintedTask(): Promise<Task<{ word: string }>> {
  return { ...(await env.tasks.at("train", 0)), annotations: { hint, failures: [0, 0] } };
}

describe.each(renderers)("a hint, with %s", (_, tokenizer, renderer) => {
  const says = ["sesame", "open sesame"];

  test("is told on a new line after the first observation, and nothing else changes", async () => {
    const policy = scriptedEngine({ tokenizer, renderer, says });
    const rollout = await runRollout(env, await hintedTask(), policy, { id: "r", seed: 1 });
    const [trajectory] = rollout.trajectories as [(typeof rollout.trajectories)[0]];
    const prompt = renderer.start(hintedOpening, []);
    const said = says.map((text) => renderer.say(text));
    const between = renderer.next([{ role: "user", content: "no, say the word again" }], { ended: true });
    expect([...trajectory.tokens_T]).toEqual([...prompt, ...said[0], ...between, ...said[1]]);
    const mask = [prompt, said[0], between, said[1]].flatMap((part, i) => [...part].map(() => i % 2));
    expect([...trajectory.mask_T]).toEqual(mask);
    expect(hintOf(trajectory)).toEqual({ ...hint, prompt_P: renderer.start(opening, []) });
    expect(trajectory.score.success).toBe(true);
    checkTokens(rollout.trajectories, policy.samples);
  });

  test("records the prompt without it as a rollout without it has it", async () => {
    const task = await env.tasks.at("train", 0);
    const policy = () => scriptedEngine({ tokenizer, renderer, says });
    const plain = (await runRollout(env, task, policy(), { id: "r", seed: 1 })).trajectories[0];
    const hinted = (await runRollout(env, await hintedTask(), policy(), { id: "r", seed: 1 })).trajectories[0];
    const first = hinted.turns[0].span.start;
    expect([...hintOf(hinted)!.prompt_P, ...hinted.tokens_T.subarray(first)]).toEqual([...plain.tokens_T]);
    expect(plain.turns.some((turn) => "annotations" in turn)).toBe(false);
  });
});

test.each([lastTurns(0), lastTurns(1), observationStubs("-"), fullContext()])(
  "where the past is rewritten ($name), every piece knows its prompt without the hint",
  async (context) => {
    const [, tokenizer, renderer] = renderers[0];
    const says = ["a", "b", "c", "open sesame"];
    const run = async (task: Task<{ word: string }>) =>
      (await runRollout(env, task, scriptedEngine({ tokenizer, renderer, says }), { id: "r", seed: 1, context }))
        .trajectories;
    const plain = await run(await env.tasks.at("train", 0));
    const hinted = await run(await hintedTask());
    expect(hinted).toHaveLength(plain.length);
    for (const [i, { tokens_T, turns }] of hinted.entries()) {
      const rest = tokens_T.subarray(turns[0].span.start);
      expect([...hintOf({ turns })!.prompt_P, ...rest]).toEqual([...plain[i].tokens_T]);
    }
  },
);

test("every attempt of a group has it, and so has a demonstration", async () => {
  const [, tokenizer, renderer] = renderers[0];
  const task = await hintedTask();
  const policy = scriptedEngine({ tokenizer, renderer, says: ["open sesame"] });
  const group = await runGroup(env, task, policy, { id: "g", seed: 1, size: 3 });
  expect(group.task.annotations).toEqual({ hint, failures: [0, 0] });
  expect(group.trajectories.map((trajectory) => hintOf(trajectory)?.kind)).toEqual(Array(3).fill("environment"));
  const { trajectories } = await demonstrate(env, task, policy, { id: "d", seed: 1 });
  expect(hintOf(trajectories[0])?.text).toBe(hint.text);
});

test("of several roles the one that begins is told", async () => {
  const [, tokenizer, renderer] = renderers[0];
  const two = defineEnv<object, object>({
    name: "two",
    tasks: generated(() => ({})),
    roles: ["one", "two"],
    start: () => ({ state: {}, say: "begin" }),
    act: ({ turn }) => (turn === 1 ? { done: true } : { say: "go on", next: "two" }),
  });
  const task = { ...(await two.tasks.at("train", 0)), annotations: { hint } };
  const policy = scriptedEngine({ tokenizer, renderer, says: ["x"] });
  const { trajectories } = await runRollout(two, task, policy, { id: "r", seed: 1 });
  expect(trajectories.map(({ role, turns }) => [role, hintOf({ turns })?.kind])).toEqual([
    ["one", "environment"],
    ["two", undefined],
  ]);
});
