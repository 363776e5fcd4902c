import { refuseUnknownOptions } from "../../known-options.ts";
import type { ToolCall } from "../../schema/message.ts";
import type { CallFormat, SaidCall } from "../call-format.ts";
import { jinjaArguments } from "../jinja-text.ts";
import { isObject, type JsonCallForm, jsonText, malformed, readJson, readJsonCall } from "./json-call.ts";
import { checkWritten, makeSaid } from "./said.ts";
import {
  knownThoughtOptions,
  readTags,
  type Section,
  type ThoughtOptions,
  writeAnswer,
  writeThought,
} from "./tagged-text.ts";
import { jsonSpecs } from "./tool-lines.ts";

const tags = ["think", "action", "answer"];
const example = '<action>tool({"argument": "value"})</action>';
const form: JsonCallForm = { argumentsKey: "arguments", example };

/**
 * ReAct with tags: a thought, then one action or the answer. An action is `name({…})`; `{"name": …, "arguments": {…}}` is
 * understood too. Where there are tools, a turn with neither is a malformed call, so that the policy is told.
 */
export function react(options: ThoughtOptions = {}): CallFormat {
  refuseUnknownOptions("react", options, knownThoughtOptions);
  const format: CallFormat = {
    name: "react",
    stopStrings: ["</action>", "</answer>"],
    template: {
      write: `{%- set ludus.call = '<action>' + call.name + '(' + ${jinjaArguments(tags)} + ')</action>' %}\n`,
      separator: "",
    },
    describe(tools) {
      const answer = "<think>your thoughts</think><answer>your answer</answer>";
      if (tools.length === 0) return `Always write ${answer} and nothing else.`;
      const action = `<think>your thoughts</think>${example}`;
      return `You can use these tools:\n${jsonSpecs(tools)}\n\nTo use one, write\n${action}\nWhen you are done, write\n${answer}`;
    },
    parse(text, tools = []) {
      const { thought, sections, isOrdered } = readTags(text, tags.slice(1), /^(think )?(action |answer )$/, options);
      const calls = sections.filter((section) => section.tag === "action").map(readAction);
      const answer = sections.find((section) => section.tag === "answer");
      if (calls.length === 0 && answer === undefined && tools.length > 0) {
        calls.push(malformed(text, "there is no action and no answer", `${example} or <answer>your answer</answer>`));
      }
      return makeSaid(thought, calls, answer?.text ?? "", isOrdered);
    },
    write(want, tools) {
      const actions = (want.calls ?? []).map((call) => `<action>${writeAction(call)}</action>`).join("");
      const text = writeThought(want.thought, options) + actions + writeAnswer(want.answer, actions);
      return checkWritten(format, text, want, { tools, canSay: "a thought, then one call or an answer without tags" });
    },
  };
  return format;
}

function readAction({ text, isClosed }: Section): SaidCall {
  if (!isClosed) return malformed(text, "</action> is missing", example);
  const action = text.trim();
  if (action.startsWith("{")) return readJsonCall(action, form);
  const name = /^[^\s(){}]+/.exec(action)?.[0] ?? "";
  const rest = action.slice(name.length).trim();
  if (name === "" || !rest.startsWith("(") || !rest.endsWith(")")) return malformed(text, "this is no call", example);
  const json = readJson(rest.slice(1, -1).trim() || "{}");
  if (!json.ok) return malformed(text, `the arguments are not JSON (${json.problem})`, example);
  if (!isObject(json.value)) return malformed(text, "the arguments are not a JSON object", example);
  return { kind: "call", name, arguments: json.value };
}

function writeAction({ name, arguments: given }: ToolCall): string {
  return /^[\w.:/-]+$/.test(name) ? `${name}(${jsonText(given, tags)})` : jsonText({ name, arguments: given }, tags);
}
