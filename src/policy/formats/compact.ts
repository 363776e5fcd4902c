import { bounds } from "../../bounds.ts";
import { cutText } from "../../cut-text.ts";
import type { ToolCall, ToolSpec } from "../../schema/message.ts";
import type { CallFormat, SaidCall } from "../call-format.ts";
import { isObject, readJson } from "./json-call.ts";
import { parametersOf, readArguments, writeArguments } from "./positional-arguments.ts";
import { positionalCall } from "./positional-call.ts";
import { checkWritten, makeSaid } from "./said.ts";

/**
 * As few characters as possible, for models of a million parameters and fewer, which would spend most of their tokens on tags
 * and quotes. One call a line, its arguments positional and typed by the tool's schema; `=` begins the answer; `#` a line of
 * thought. Arguments that do not fit the schema follow the name as JSON, `search{"query":"tea"}`.
 *
 *     search tea                  // { calls: [{ name: "search", arguments: { query: "tea" } }] }
 *     =Green tea.                 // { answer: "Green tea." }
 *
 * Tools must be given to `parse` and `write`: without them no argument has a name.
 */
export function compact(): CallFormat {
  const format: CallFormat = {
    name: "compact",
    stopStrings: [],
    describe: () => "",
    parse(text, tools = []) {
      const answerAt = text.startsWith("=") ? 0 : text.indexOf("\n=") + 1;
      const hasAnswer = text.startsWith("=", answerAt);
      const lines = (hasAnswer ? text.slice(0, answerAt) : text).split("\n").filter((line) => line.trim() !== "");
      const callLines = lines.filter((line) => !line.startsWith("#"));
      const thoughts = lines.filter((line) => line.startsWith("#")).map((line) => line.slice(1));
      const calls = callLines.map((line) => readLine(line.trim(), tools));
      if (calls.length === 0 && !hasAnswer) calls.push(malformed("", "nothing was said", tools));
      const isOrdered = lines.every((line, index) => line.startsWith("#") === index < thoughts.length);
      return makeSaid(thoughts.join("\n"), calls, hasAnswer ? text.slice(answerAt + 1) : "", isOrdered);
    },
    template: { write: positionalCall, separator: "\n" },
    open: (tool) => `${tool} `,
    write(want, tools = []) {
      const thought = (want.thought ?? "").trim();
      const thoughts = thought === "" ? [] : thought.split("\n").map((line) => `#${line}`);
      const calls = (want.calls ?? []).map((call) => writeLine(call, tools));
      const answer = want.answer?.trim() || (calls.length === 0 ? "" : undefined);
      const text = [...thoughts, ...calls, ...(answer === undefined ? [] : [`=${answer}`])].join("\n");
      return checkWritten(format, text, want, {
        tools,
        canSay: "calls of tools whose names have no spaces, an answer",
      });
    },
  };
  return format;
}

function readLine(line: string, tools: readonly ToolSpec[]): SaidCall {
  const name = /^[^\s{]*/.exec(line)![0];
  const rest = line.slice(name.length);
  if (name !== "" && rest.startsWith("{")) {
    const json = readJson(rest);
    if (json.ok && isObject(json.value)) return { kind: "call", name, arguments: json.value };
    return malformed(line, "arguments are no JSON object", tools);
  }
  const tool = tools.find((candidate) => candidate.name === name);
  if (tool === undefined) return malformed(line, `no tool ${name}`, tools);
  const read = readArguments(rest, tool);
  return read.ok ? { kind: "call", name, arguments: read.arguments } : malformed(line, read.problem, [tool]);
}

function writeLine({ name, arguments: given }: ToolCall, tools: readonly ToolSpec[]): string {
  const tool = tools.find((candidate) => candidate.name === name);
  const placed = tool === undefined ? undefined : writeArguments(given, tool);
  if (placed === undefined) return name + JSON.stringify(given);
  return placed === "" ? name : `${name} ${placed}`;
}

// short: a tiny model reads every character of it
function malformed(line: string, problem: string, tools: readonly ToolSpec[]): SaidCall {
  const ways = tools.map((tool) => [tool.name, ...parametersOf(tool).map((parameter) => parameter.name)].join(" "));
  return {
    kind: "malformed",
    text: line,
    problem: `${cutText(problem, bounds.quotedChars)}; write ${[...ways, "=answer"].join(" or ")}`,
  };
}
