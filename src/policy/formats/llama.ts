import { refuseUnknownOptions } from "../../known-options.ts";
import type { CallFormat } from "../call-format.ts";
import { jinjaArguments } from "../jinja-text.ts";
import { isObject, type JsonCallForm, jsonText, readJson, readJsonCall } from "./json-call.ts";
import { checkWritten, makeSaid } from "./said.ts";
import { knownThoughtOptions, readTags, type ThoughtOptions, writeThought } from "./tagged-text.ts";

const form: JsonCallForm = {
  argumentsKey: "parameters",
  example: '{"name": "tool", "parameters": {"parameter": "value"}} and nothing else',
};

/** Llama 3: a call is the whole message, `{"name": …, "parameters": {…}}`; anything else is the answer. */
export function llama(options: ThoughtOptions = {}): CallFormat {
  refuseUnknownOptions("llama", options, knownThoughtOptions);
  const format: CallFormat = {
    name: "llama",
    stopStrings: [],
    describe: () => "",
    parse(text) {
      const { thought, outside, isOrdered } = readTags(text, [], /^(think )?(text )?$/, options);
      const message = outside.replace(/^<\|python_tag\|>\s*/, "");
      const call = looksLikeCall(message) ? readJsonCall(message, form) : undefined;
      return makeSaid(thought, call === undefined ? [] : [call], call === undefined ? outside : "", isOrdered);
    },
    template: {
      write: `{%- set ludus.call = '{"name": ' + (call.name | tojson) + ', "parameters": ' + ${jinjaArguments(["think"])} + '}' %}\n`,
      separator: "",
    },
    open: (tool) => `{"name": ${JSON.stringify(tool)}, "parameters": `,
    write(want) {
      const calls = (want.calls ?? []).map(({ name, arguments: parameters }) =>
        jsonText({ name, parameters }, ["think"]),
      );
      const text = writeThought(want.thought, options) + [...calls, (want.answer ?? "").trim()].join("");
      return checkWritten(format, text, want, { canSay: "one call, or an answer that does not look like one" });
    },
  };
  return format;
}

function looksLikeCall(message: string): boolean {
  if (!message.startsWith("{")) return false;
  const json = readJson(message);
  // an answer may be JSON, even with a name in it; one with parameters is a call
  if (json.ok) return isObject(json.value) && "parameters" in json.value;
  return /["']?(?:name|parameters)["']?\s*:/.test(message);
}
