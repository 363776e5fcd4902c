import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import type { CallFormat } from "../call-format.ts";
import { jinjaArguments } from "../jinja-text.ts";
import { type JsonCallForm, jsonText, malformed, readJsonCall } from "./json-call.ts";
import { checkWritten, makeSaid } from "./said.ts";
import { knownThoughtOptions, readTags, type ThoughtOptions } from "./tagged-text.ts";
import { jsonSpecs } from "./tool-lines.ts";

export interface HermesOptions extends ThoughtOptions {
  /** For chat templates that do not tell the tools themselves. */
  describeTools?: boolean;
}

const knownHermesOptions: KnownOptions<HermesOptions> = { ...knownThoughtOptions, describeTools: true };

const form: JsonCallForm = {
  argumentsKey: "arguments",
  example: '<tool_call>\n{"name": "tool", "arguments": {"argument": "value"}}\n</tool_call>',
};
const tags = ["think", "tool_call"];

/**
 * Hermes and Qwen: calls as JSON between `<tool_call>` tags, several in a turn if need be, after what else is said. The
 * default chat template tells the tools in this way, and writes calls in the same characters.
 */
export function hermes(options: HermesOptions = {}): CallFormat {
  refuseUnknownOptions("hermes", options, knownHermesOptions);
  const format: CallFormat = {
    name: "hermes",
    stopStrings: [],
    describe: (tools) =>
      options.describeTools !== true || tools.length === 0
        ? ""
        : `You can call these functions:\n<tools>\n${jsonSpecs(tools)}\n</tools>\n\nTo call one, write\n${form.example}`,
    parse(text) {
      const read = readTags(text, ["tool_call"], /^(think )?(text )?(tool_call )*$/, options);
      const calls = read.sections
        .filter((section) => section.tag === "tool_call")
        .map((section) => {
          return section.isClosed
            ? readJsonCall(section.text, form)
            : malformed(section.text, "</tool_call> is missing", form.example);
        });
      return makeSaid(read.thought, calls, read.outside, read.isOrdered);
    },
    template: {
      write: `{%- set ludus.call = '<tool_call>\\n{"name": ' + (call.name | tojson) + ', "arguments": ' + ${jinjaArguments(tags)} + '}\\n</tool_call>' %}\n`,
      separator: "\n",
    },
    open: (tool) => `<tool_call>\n{"name": ${JSON.stringify(tool)}, "arguments": `,
    write(want, tools) {
      const calls = (want.calls ?? []).map((call) => {
        const json = jsonText({ name: call.name, arguments: call.arguments }, tags);
        return `<tool_call>\n${json}\n</tool_call>`;
      });
      const answer = (want.answer ?? "").trim();
      const said = [...(answer === "" ? [] : [answer]), ...calls].join("\n");
      const text = thoughtOf(want.thought, options) + said;
      return checkWritten(format, text, want, { tools, canSay: "text without its own tags, then calls" });
    },
  };
  return format;
}

// on lines of their own, as Qwen 3 was taught it
function thoughtOf(thought = "", { thoughtIsOpen = false }: ThoughtOptions): string {
  if (thought.trim() === "") return thoughtIsOpen ? "\n</think>\n\n" : "";
  return `${thoughtIsOpen ? "" : "<think>\n"}${thought.trim()}\n</think>\n\n`;
}
