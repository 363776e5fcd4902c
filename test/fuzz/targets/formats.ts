import { formats } from "../../../src/policy/formats/call-formats.ts";
import type { CallFormat, Said } from "../../../src/policy/index.ts";
import type { Rng } from "../../../src/random.ts";
import { fromLosslessJson, toLosslessJson } from "../../../src/schema/index.ts";
import type { ToolSpec } from "../../../src/schema/message.ts";
import { settledText } from "../../../src/server/model/settled-text.ts";
import { hostileText, pick } from "../hostile-text.ts";
import { check } from "../refusal.ts";
import type { FuzzTarget } from "../target.ts";

export const tools: readonly ToolSpec[] = [
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
      },
      required: ["place", "seats"],
    },
  },
  { name: "now", description: "", parameters: { type: "object", properties: {} } },
];

const variants: Readonly<Record<string, () => CallFormat>> = {
  plain: () => formats.plain(),
  hermes: () => formats.hermes(),
  "hermes, thought open": () => formats.hermes({ thoughtIsOpen: true }),
  react: () => formats.react(),
  "think-answer": () => formats.thinkAnswer(),
  llama: () => formats.llama(),
  search: () => formats.search(),
  compact: () => formats.compact(),
};

interface Input {
  readonly format: string;
  readonly text: string;
}

function generate(rng: Rng): Input {
  return { format: pick(rng, Object.keys(variants)), text: hostileText(rng) };
}

/** Reading what a policy said: never throws, keeps the promises of `Said`, and its calls can be stored. */
export const formatsTarget: FuzzTarget<Input> = {
  name: "formats",
  generate,
  run({ format: name, text }) {
    const said = variants[name]().parse(text, tools);
    checkSaid(said);
  },
};

/** The same while it is being sampled: what is told first stays true when more comes. */
export const streamingTarget: FuzzTarget<Input> = {
  name: "streaming",
  generate,
  run({ format: name, text }) {
    const format = variants[name]();
    let told = 0;
    for (const share of [0.25, 0.5, 0.9, 1]) {
      const { length, said } = settledText(format, text.slice(0, Math.floor(text.length * share)), tools);
      check(length >= told, "settled text never becomes shorter");
      check(
        said.calls.every(({ kind }) => kind === "call"),
        "settled text has only calls that can be read",
      );
      told = length;
    }
  },
};

function checkSaid({ thought, calls, answer, isWellFormed }: Said): void {
  check(answer === answer.trim(), "an answer has no white space around it");
  check(thought !== "", "a thought is absent rather than empty");
  for (const call of calls) {
    if (call.kind === "malformed") {
      check(call.problem !== "" && call.problem.length < 5_000, "a problem is told, in few words");
      check(!isWellFormed, "a malformed call is not well-formed");
    } else {
      check(Object.prototype.toString.call(call.arguments) === "[object Object]", "arguments are an object");
      const json = toLosslessJson(call.arguments);
      check(toLosslessJson(fromLosslessJson(json)) === json, "arguments survive the store");
    }
  }
}
