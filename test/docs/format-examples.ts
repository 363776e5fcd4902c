import type { CallFormat } from "../../src/index.ts";
import { callFormats } from "../../src/policy/index.ts";
import type { ToolSpec } from "../../src/schema/message.ts";

const tool: ToolSpec = {
  name: "search",
  description: "Finds pages",
  parameters: { type: "object", properties: { query: { type: "string" } }, required: ["query"] },
};
const call = { name: "search", arguments: { query: "green tea" } };

/** Broken texts, of each format one. */
const broken: Readonly<Record<string, string>> = {
  hermes: '<tool_call>\n{"name": "search", "arguments": {"query": "green tea"}}',
  react: "<action>search green tea</action>",
  llama: '{"name": "search", "parameters": "green tea"}',
  search: "green tea",
  compact: "find green tea",
};

/** What a format tells, writes and cannot read, made by running it. */
export function formatExamples(name: string): string {
  const format = callFormats[name as keyof typeof callFormats]();
  const told = format.describe([tool]);
  const parts = [
    ...(told === "" ? [] : [["The system message tells", told] as const]),
    ...written(format, "A call", { thought: "I should look it up.", calls: [call] }),
    ...written(format, "The answer", { thought: "Now I know.", answer: "Green tea." }),
    ...(format.stopStrings.length === 0 ? [] : [["A turn ends after", format.stopStrings.join("  ")] as const]),
  ];
  const text = broken[name];
  const problem = text === undefined ? undefined : format.parse(text, [tool]).calls[0];
  if (problem?.kind === "malformed") parts.push(["It cannot read", text], ["and tells", problem.problem]);
  return `${parts.map(([what, words]) => `${what}:\n\n\`\`\`text\n${words}\n\`\`\``).join("\n\n")}\n`;
}

type Want = Parameters<CallFormat["write"]>[0];

/** With a thought where the format has thoughts; nothing where it cannot say it. */
function written(format: CallFormat, what: string, { thought, ...rest }: Want & { thought: string }) {
  for (const want of [{ thought, ...rest }, rest]) {
    try {
      return [[what, format.write(want, [tool])] as const];
    } catch {
      // tried again without its thought
    }
  }
  return [];
}
