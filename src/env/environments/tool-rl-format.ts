import type { CallFormat } from "../../policy/call-format.ts";
import { type JsonCallForm, jsonText, malformed, readJsonCall } from "../../policy/formats/json-call.ts";
import { checkWritten, makeSaid } from "../../policy/formats/said.ts";
import { readTags, type Section } from "../../policy/formats/tagged-text.ts";
import { jsonSpecs } from "../../policy/formats/tool-lines.ts";

const example = '<tool_call>\n{"name": "tool", "parameters": {"parameter": "value"}}\n</tool_call>';
const form: JsonCallForm = { argumentsKey: "parameters", example };
const tags = ["think", "tool_call", "response"];

/**
 * ToolRL: a thought, then all calls between one pair of tags, one JSON object a line, then what the user is told, each on its
 * own lines. Calls or response may be missing, not both.
 *
 *     <think>The city is named.</think>
 *     <tool_call>
 *     {"name": "weather", "parameters": {"city": "Oslo"}}
 *     </tool_call>
 */
export function toolRlFormat(): CallFormat {
  const format: CallFormat = {
    name: "tool-rl",
    stopStrings: [],
    describe: (tools) =>
      `You can use these tools:\n${jsonSpecs(tools)}\n\nThink first, between <think> and </think>. To use tools, go on with\n` +
      `${example}\none tool a line. To tell the user something, or where no tool helps, go on with\n` +
      "<response>what the user is told</response>",
    parse(text, tools = []) {
      const order = /^think (tool_call |response |tool_call response )$/;
      const { thought, sections, isOrdered } = readTags(text, tags.slice(1), order);
      const calls = sections.filter(({ tag }) => tag === "tool_call").flatMap(readCalls);
      const response = sections.find(({ tag }) => tag === "response");
      if (calls.length === 0 && response === undefined && tools.length > 0) {
        calls.push(malformed(text, "there is no tool call and no response", example));
      }
      return makeSaid(thought, calls, response?.text ?? "", isOrdered);
    },
    write(want, tools) {
      const calls = (want.calls ?? []).map(({ name, arguments: parameters }) => jsonText({ name, parameters }, tags));
      const answer = (want.answer ?? "").trim();
      const parts = [`<think>${(want.thought ?? "").trim()}</think>`];
      if (calls.length > 0) parts.push(`<tool_call>\n${calls.join("\n")}\n</tool_call>`);
      if (answer !== "" || calls.length === 0) parts.push(`<response>${answer}</response>`);
      return checkWritten(format, parts.join("\n"), want, {
        tools,
        canSay: "a thought, calls and a text without tags",
      });
    },
  };
  return format;
}

function readCalls({ text, isClosed }: Section) {
  if (!isClosed) return [malformed(text, "</tool_call> is missing", example)];
  return text
    .trim()
    .split("\n")
    .map((line) => readJsonCall(line, form));
}
