import { isDeepStrictEqual } from "node:util";
import { describe, expect, test } from "vitest";
import { type CallFormat, formats } from "../../policy/index.ts";
import { createRng } from "../../random.ts";
import type { ToolSpec } from "../../schema/message.ts";
import { settledReader, settledText } from "./settled-text.ts";

const { compact, hermes, llama, plain, react } = formats;
const tools: ToolSpec[] = [
  { name: "look", description: "", parameters: { type: "object", properties: { where: { type: "string" } } } },
];
const toldOf = (format: CallFormat, text: string) => {
  const { said } = settledText(format, text, tools);
  return [said.answer, said.calls.length];
};
const call = '<tool_call>\n{"name": "look", "arguments": {"where": "up"}}\n</tool_call>';

test("text is told as it comes, but nothing that may become a tag", () => {
  expect(toldOf(hermes(), "I will look")).toEqual(["I will look", 0]);
  expect(toldOf(hermes(), "I will look\n<tool_")).toEqual(["I will look", 0]);
  expect(toldOf(hermes(), "if a < b")).toEqual(["if a < b", 0]);
  expect(toldOf(hermes(), "<think>not yet")).toEqual(["", 0]);
  expect(toldOf(hermes(), "<think>so</think>\n\nHello")).toEqual(["Hello", 0]);
  expect(toldOf(plain(), "<tool_call>")).toEqual(["<tool_call>", 0]);
});

test("a call is told when it is closed, and never one that cannot be read", () => {
  expect(toldOf(hermes(), call.slice(0, -1))).toEqual(["", 0]);
  expect(toldOf(hermes(), `Yes.\n${call}\n${call.slice(0, 20)}`)).toEqual(["Yes.", 1]);
  expect(toldOf(hermes(), `${call}<tool_call>{bad</tool_call>`)).toEqual(["", 1]);
  expect(toldOf(compact(), "look up")).toEqual(["", 0]);
  expect(toldOf(compact(), "look up\nlook do")).toEqual(["", 1]);
  expect(toldOf(compact(), "look up\nfly\n")).toEqual(["", 1]);
  expect(toldOf(compact(), "look up\n=It is")).toEqual(["It is", 1]);
});

test("where a call is the whole message, or an answer has tags, it is told at the end", () => {
  expect(toldOf(llama(), '{"name": "look", "parameters": {}}')).toEqual(["", 0]);
  expect(toldOf(llama(), "The sky")).toEqual(["The sky", 0]);
  expect(toldOf(react(), "<answer>The sky</answer>")).toEqual(["", 0]);
});

test("what was told is always the beginning of what is told in the end", () => {
  const rng = createRng(7);
  const pieces = [
    call,
    "<tool_call>{bad</tool_call>",
    "<think>hm</think>",
    "</think>",
    "<tool_call>",
    "Hi ",
    "\n",
    "look up\n",
  ];
  pieces.push("=", "{", '{"name": "look", "parameters": {"where": "up"}}', "<", "fly away\n", "#so\n");
  const wrong: string[] = [];
  for (let round = 0; round < 400; round++) {
    const text = Array.from({ length: 1 + rng.integer(5) }, () => pieces[rng.integer(pieces.length)]).join("");
    for (const format of [hermes(), hermes({ thoughtIsOpen: true }), llama(), compact(), plain()]) {
      const whole = format.parse(text, tools);
      let told = "";
      const reader = settledReader(format, tools);
      for (let end = 1; end <= text.length; end += 1 + rng.integer(6)) {
        const { length, said } = settledText(format, text.slice(0, end), tools);
        const incremental = reader.read(text.slice(0, end));
        if (!isDeepStrictEqual(incremental, { length, said }))
          wrong.push(`${format.name}, in parts: ${text.slice(0, end)}`);
        const isKept = said.calls.every((each, i) => isDeepStrictEqual(each, whole.calls[i]));
        if (!isKept || !said.answer.startsWith(told)) wrong.push(`${format.name}: ${text.slice(0, end)}`);
        told = said.answer;
      }
      const isReadable = whole.calls.every(({ kind }) => kind === "call");
      if (isReadable && !whole.answer.startsWith(told)) wrong.push(`${format.name}: ${text}`);
    }
  }
  expect(wrong).toEqual([]);
});

describe("the work grows with the text, not with its square", () => {
  const counted = (format: CallFormat) => {
    const work = { calls: 0, characters: 0 };
    const parse: CallFormat["parse"] = (text, ...rest) => {
      work.calls++;
      work.characters += text.length;
      return format.parse(text, ...rest);
    };
    return { work, format: { ...format, parse } };
  };
  const texts: readonly [CallFormat, string, number][] = [
    [hermes(), "<tool_call></tool_call>".repeat(2000), 0],
    [hermes(), "<tool_call>".repeat(2000), 0],
    [hermes(), call.repeat(500), 500],
    [hermes(), `${call}<think>`.repeat(500), 1],
    [hermes(), "a < b ".repeat(5000), 0],
    [hermes({ thoughtIsOpen: true }), `</think>${call.repeat(500)}`, 500],
    [llama(), " ".repeat(20_000), 0],
    [llama(), "<think></think>".repeat(2000), 0],
    [compact(), "look up\n".repeat(2000), 2000],
    [compact(), "\n".repeat(20_000), 0],
  ];
  test.each(
    texts.map(([format, text, calls]) => ({ name: `${format.name} ${text.slice(0, 24)}`, format, text, calls })),
  )("$name", ({ format, text, calls }) => {
    const whole = counted(format);
    const settled = settledText(whole.format, text, tools);
    expect(settled.said.calls).toHaveLength(calls);
    expect(whole.work.characters).toBeLessThanOrEqual(text.length + 1);
    const streamed = counted(format);
    const reader = settledReader(streamed.format, tools);
    for (let end = 8; end < text.length; end += 8) reader.read(text.slice(0, end));
    expect(reader.read(text)).toEqual(settled);
    expect(streamed.work).toEqual(whole.work);
  });
});
