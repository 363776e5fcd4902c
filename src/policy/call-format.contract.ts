import { describe, expect, test } from "vitest";
import { defined } from "../defined.ts";
import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { createRng, type Rng } from "../random.ts";
import type { ToolCall, ToolSpec } from "../schema/message.ts";
import type { CallFormat, WantToSay } from "./call-format.ts";
import { randomTexts } from "./tokenizer.contract.ts";

export interface CallFormatContractOptions {
  /** Calls that the format can say; any of any tool by default. */
  call?: (rng: Rng) => ToolCall;
  /** How many calls a turn may have. */
  maxCalls: number;
  hasThoughts: boolean;
  /** Whether a turn may have both calls and an answer. */
  answersBesideCalls: boolean;
}

const knownOptions: KnownOptions<CallFormatContractOptions> = {
  call: true,
  maxCalls: true,
  hasThoughts: true,
  answersBesideCalls: true,
};

/** What every format must do: read anything, and read what it wrote as it was meant. */
export function callFormatContract(name: string, make: () => CallFormat, options: CallFormatContractOptions): void {
  refuseUnknownOptions("callFormatContract", options, knownOptions);
  describe(`call format contract: ${name}`, () => {
    const format = make();

    test("reads anything", () => {
      const rng = createRng(11);
      for (const text of [...awkward, ...Array.from({ length: 3000 }, () => scramble(rng, format))]) {
        for (const tools of [undefined, contractTools]) {
          const said = format.parse(text, tools);
          expect(said.answer).toBe(said.answer.trim());
          expect(said.thought).not.toBe("");
          for (const call of said.calls) {
            if (call.kind === "malformed") expect(call.problem).not.toBe("");
            else expect(Object.prototype.toString.call(call.arguments)).toBe("[object Object]");
            if (call.kind === "malformed") expect(said.isWellFormed).toBe(false);
          }
        }
      }
    });

    test("reads what it wrote, of texts that hold no tags", () => {
      const rng = createRng(12);
      for (let count = 0; count < 500; count++) {
        const want = randomWish(rng, options, false);
        expect(format.parse(format.write(want, contractTools), contractTools)).toEqual(meaning(want));
      }
    });

    test("reads what it wrote, whatever the text, or refuses to write it", () => {
      const rng = createRng(13);
      let written = 0;
      for (let count = 0; count < 500; count++) {
        const want = randomWish(rng, options, true);
        try {
          const text = format.write(want, contractTools);
          expect(format.parse(text, contractTools)).toEqual(meaning(want));
          written++;
        } catch (error) {
          if (!(error instanceof LudusError)) throw error;
          expect(error.code).toBe("unwritable");
        }
      }
      expect(written).toBeGreaterThan(50);
    });

    test("a stop string ends what it wrote, and is nowhere before the end", () => {
      const rng = createRng(14);
      for (let count = 0; count < 100 && format.stopStrings.length > 0; count++) {
        const text = format.write(randomWish(rng, options, false), contractTools);
        const ends = format.stopStrings
          .filter((stop) => text.includes(stop))
          .map((stop) => text.indexOf(stop) + stop.length);
        expect(ends).toEqual([text.length]);
      }
    });

    test("long and deep text is read in time", () => {
      for (const piece of [
        "<think>",
        "</think>",
        "<tool_call>",
        "<action>a(",
        '{"a":',
        "[",
        "<answer><search>",
        "#\n",
        '"\\',
      ]) {
        const startedAt = performance.now();
        format.parse(piece.repeat(20_000), contractTools);
        expect(performance.now() - startedAt).toBeLessThan(2_000);
      }
    });
  });
}

export const contractTools: readonly ToolSpec[] = [
  {
    name: "search",
    description: "Finds pages",
    parameters: { type: "object", properties: { query: { type: "string" } }, required: ["query"] },
  },
  {
    name: "book",
    description: "Books a table",
    parameters: {
      type: "object",
      properties: {
        place: { type: "string" },
        seats: { type: "integer" },
        outside: { type: "boolean" },
        wishes: { type: "array" },
        note: { type: "string" },
      },
      required: ["place", "seats"],
    },
  },
  { name: "now", description: "", parameters: { type: "object", properties: {} } },
];

function meaning({ thought = "", calls = [], answer = "" }: WantToSay) {
  return {
    ...defined({ thought: thought.trim() === "" ? undefined : thought.trim() }),
    calls: calls.map((call) => ({ kind: "call", ...call })),
    answer: answer.trim(),
    isWellFormed: true,
  };
}

function randomWish(rng: Rng, options: CallFormatContractOptions, withTags: boolean): WantToSay {
  const call = options.call ?? ((chance) => randomCall(chance, withTags));
  const calls = Array.from({ length: rng.integer(options.maxCalls + 1) }, () => call(rng));
  const hasAnswer = calls.length === 0 || (options.answersBesideCalls && rng.next() < 0.5);
  return {
    ...defined({
      thought: options.hasThoughts && rng.next() < 0.5 ? randomText(rng, withTags) : undefined,
      calls: calls.length > 0 || rng.next() < 0.1 ? calls : undefined,
      answer: hasAnswer ? randomText(rng, withTags) : undefined,
    }),
  };
}

function randomCall(rng: Rng, withTags: boolean): ToolCall {
  const text = () => randomText(rng, withTags);
  const optional = <Value>(key: string, value: Value) => (rng.next() < 0.5 ? {} : { [key]: value });
  switch (rng.integer(5)) {
    case 0:
      return { name: "search", arguments: { query: text() } };
    case 1:
      return { name: "now", arguments: {} };
    case 2:
      return {
        name: "book",
        arguments: {
          ...optional("place", text()),
          ...optional("seats", rng.integer(9) - 4.5),
          ...optional("outside", rng.next() < 0.5),
          ...optional("wishes", [text(), { [text()]: null, deep: [[1, 2.5e-9]] }]),
          ...optional("note", text()),
        },
      };
    case 3:
      return { name: "book", arguments: { place: rng.integer(5), seats: text(), more: true } };
    default:
      return { name: "other.tool-9", arguments: { [text()]: text(), toString: 1, nothing: null } };
  }
}

const quoted = [
  '"',
  "'",
  "{",
  "}",
  "\\",
  "\n",
  "\\n",
  "_",
  "=",
  "#",
  "(",
  ")",
  "[",
  "]",
  " ",
  ",",
  '{"name": "x"}',
  "é👍🏽",
  "0",
  "a b",
];
const tagged = [
  "<think>",
  "</think>",
  "<tool_call>",
  "</tool_call>",
  "<action>",
  "</action>",
  "<answer>",
  "</answer>",
  "<search>",
];
const more = [
  "</search>",
  "<information>",
  "\\u003c",
  "<",
  "/",
  "\n=",
  "\n#",
  '{"name": "x", "parameters": {}}',
  "<|im_end|>",
  "\ud800",
];

function randomText(rng: Rng, withTags: boolean): string {
  const pieces = withTags ? [...quoted, ...tagged, ...more] : [...quoted, "tea", "blue"];
  const [noise] = randomTexts(1 + rng.integer(1e6), 1);
  const text = Array.from({ length: rng.integer(6) }, () => pieces[rng.integer(pieces.length)]).join("");
  // at the beginning, a brace is a call to formats without tags
  return withTags ? text + noise : (text + noise.replaceAll(/<[^>]*>/g, "")).replace(/^[\s{}]+/, "");
}

/** Random output of a policy: pieces of the format in any order, valid turns cut and joined. */
function scramble(rng: Rng, format: CallFormat): string {
  const valid = [
    "search tea",
    "=4",
    '{"name": "search", "arguments": {"query": "tea"}}',
    'search({"query": "tea"})',
    "book a 1 _ []",
  ];
  const pieces = [...quoted, ...tagged, ...more, ...valid, ...format.stopStrings];
  const text = Array.from({ length: rng.integer(14) }, () => pieces[rng.integer(pieces.length)]).join("");
  return rng.next() < 0.3 ? text.slice(rng.integer(text.length + 1)) : text;
}

const awkward: readonly string[] = [
  "",
  " \n ",
  "null",
  "[]",
  "{}",
  "{",
  '{"name": "__proto__", "arguments": {"__proto__": {"x": 1}}}',
  '<tool_call>{"name": "a", "arguments": {"__proto__": 1}}</tool_call>',
  "<action>__proto__({})</action>",
  'book "unclosed 3',
  'book "a"b 3',
  "book a 1e999",
  "book _ _ _ {]",
  "\u0000\ud800\udfff",
];
