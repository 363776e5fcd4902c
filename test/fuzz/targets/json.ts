import type { Rng } from "../../../src/random.ts";
import { conversationFromChat, conversationToChat } from "../../../src/schema/chat-jsonl.ts";
import { fakeTask, fakeTrajectory } from "../../../src/schema/fake-trajectory.ts";
import {
  collect,
  fromLosslessJson,
  readChatJsonl,
  readShareGptJsonl,
  readTrajectoryJsonl,
  runEventFromJson,
  taskFromJson,
  toLosslessJson,
} from "../../../src/schema/index.ts";
import { conversationFromShareGpt, conversationToShareGpt } from "../../../src/schema/share-gpt.ts";
import { trajectoryFromJson, trajectoryToJson } from "../../../src/schema/trajectory-json.ts";
import { canonicalJson, parseJson } from "../../../src/scorer/json-value.ts";
import { cut, hostileText, jsonValue, mutatedJson, pick } from "../hostile-text.ts";
import { allowRefusal, allowRefusalAsync, check } from "../refusal.ts";
import type { FuzzTarget } from "../target.ts";

interface Input {
  readonly reader: string;
  readonly text: string;
}

const chat = {
  messages: [
    { role: "system", content: "Be brief." },
    { role: "user", content: [{ type: "text", text: "tea?" }] },
    {
      role: "assistant",
      content: null,
      tool_calls: [{ id: "1", type: "function", function: { name: "search", arguments: '{"query": "tea"}' } }],
    },
    { role: "tool", tool_call_id: "1", content: "green" },
    { role: "assistant", content: "Green." },
  ],
  tools: [{ type: "function", function: { name: "search", parameters: { type: "object", properties: {} } } }],
};

const shareGpt = {
  conversations: [
    { from: "system", value: "Be brief." },
    { from: "human", value: "tea?" },
    { from: "function_call", value: '{"name": "search", "arguments": {"query": "tea"}}' },
    { from: "observation", value: "green" },
    { from: "gpt", value: "Green." },
  ],
  tools: "[]",
};

interface Reader {
  /** A value that is right, to be spoiled. */
  sample(rng: Rng): unknown;
  read(text: string): void | Promise<void>;
}

const readers: Readonly<Record<string, Reader>> = {
  "any value": {
    sample: (rng) => jsonValue(rng, 200),
    read(text) {
      const value = parseJson(text);
      if (value === undefined) return;
      check(parseJson(canonicalJson(value)) !== undefined, "the canonical form of a value is JSON");
    },
  },
  lossless: {
    sample: (rng) => jsonValue(rng, 200),
    read(text) {
      const value = allowRefusal(() => parseJson(text));
      if (value === undefined) return;
      const json = toLosslessJson(value);
      check(toLosslessJson(fromLosslessJson(json)) === json, "a value that was read can be stored and read again");
    },
  },
  chat: {
    sample: () => chat,
    read: (text) => read(text, (value) => conversationToChat(conversationFromChat(value))),
  },
  ShareGPT: {
    sample: () => shareGpt,
    read: (text) => read(text, (value) => conversationToShareGpt(conversationFromShareGpt(value))),
  },
  trajectory: {
    sample: (rng) => trajectoryToJson(fakeTrajectory(rng)),
    read: (text) => read(text, (value) => trajectoryToJson(trajectoryFromJson(value))),
  },
  task: { sample: (rng) => fakeTask(rng, "task-1"), read: (text) => read(text, taskFromJson) },
  event: {
    sample: (rng) => ({ type: "step-end", step: rng.integer(9), metrics: { "reward/mean": 0.5 } }),
    read: (text) => read(text, runEventFromJson),
  },
  "lines of chat": { sample: () => chat, read: (text) => lines(readChatJsonl, text) },
  "lines of ShareGPT": { sample: () => shareGpt, read: (text) => lines(readShareGptJsonl, text) },
  "lines of trajectories": {
    sample: (rng) => trajectoryToJson(fakeTrajectory(rng)),
    read: (text) => lines(readTrajectoryJsonl, text),
  },
};

function read(text: string, use: (value: unknown) => unknown): void {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return;
  }
  allowRefusal(() => use(value));
}

async function lines(
  reader: (lines: string[]) => AsyncIterable<unknown> | Iterable<unknown>,
  text: string,
): Promise<void> {
  await allowRefusalAsync(() => collect(reader(text.split("\n"))));
}

/** JSON of data sets, agents and stored runs: read, or refused by name. */
export const jsonTarget: FuzzTarget<Input> = {
  name: "json",
  generate(rng) {
    const reader = pick(rng, Object.keys(readers));
    if (rng.next() < 0.15) return { reader, text: hostileText(rng, 20_000) };
    const text = JSON.stringify(mutatedJson(rng, readers[reader].sample(rng)));
    return { reader, text: rng.next() < 0.2 ? cut(rng, text) : text };
  },
  run: ({ reader, text }) => readers[reader].read(text),
};
