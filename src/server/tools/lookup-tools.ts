import { parseBoundedJson } from "../../bounded-json.ts";
import { bm25 } from "../../env/environments/bm25.ts";
import { LudusError } from "../../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import { createRng } from "../../random.ts";
import { callTool } from "../../tool/call-tool.ts";
import type { McpTools } from "../../tool/mcp-tools.ts";
import { type ActionTool, taggedText } from "./action-tool.ts";
import { type CodeToolOptions, codeToolOptions } from "./code-tools.ts";

export interface SearchDocument {
  readonly title?: string;
  readonly text: string;
}

export interface SearchActionOptions {
  /** Documents an answer has at most; 3 by default. */
  readonly most: number;
}

const searchActionOptions: KnownOptions<SearchActionOptions> = { most: true };

/** Searches documents by BM25: `<search>…</search>`. */
export function searchAction(
  documents: readonly SearchDocument[],
  options: Partial<SearchActionOptions> = {},
): ActionTool {
  refuseUnknownOptions("searchAction", options, searchActionOptions);
  const { most = 3 } = options;
  const find = bm25(documents.map(({ title = "", text }) => `${title}\n${text}`));
  const query = (action: string) => taggedText(action, ["search"]);
  return {
    name: "search",
    usage: "<search>words</search>",
    priority: (action) => (query(action) === undefined ? -1 : 1),
    async run(action) {
      const hits = find(query(action)!.slice(0, 2_000), most);
      const shown = hits.map(({ index }, i) => {
        const { title, text } = documents[index];
        return `Doc ${i + 1}${title === undefined ? "" : ` (Title: ${title})`} ${text}`;
      });
      return { observation: shown.length === 0 ? "Nothing was found." : shown.join("\n") };
    },
  };
}

/** Tools of an MCP server: `<tool_call>{"name": …, "arguments": {…}}</tool_call>`. Others come first. */
export function mcpAction(mcp: Pick<McpTools, "tools" | "close">, options: CodeToolOptions): ActionTool {
  refuseUnknownOptions("mcpAction", options, codeToolOptions);
  const { timeoutMs } = options;
  const names = Object.keys(mcp.tools);
  return {
    name: "mcp",
    usage: `<tool_call>{"name": "${names[0] ?? "name"}", "arguments": {}}</tool_call> (tools: ${names.join(", ")})`,
    priority: (action) => (taggedText(action, ["tool_call"]) === undefined ? -1 : 0),
    async run(action, { signal, state, box }) {
      const call = callIn(taggedText(action, ["tool_call"])!);
      if (call === undefined) {
        return { observation: 'a call is {"name": "…", "arguments": {…}}, in JSON', isValid: false };
      }
      const context = {
        state,
        signal,
        rng: createRng(0),
        box: () => box.open(),
        reward: () => {},
        finish: () => {},
      };
      const result = await callTool(mcp.tools, call, context, { toolMs: timeoutMs, observationChars: 65_536 });
      if (result.kind === "observed") {
        const { outcome, observation } = result.record;
        return { observation, isValid: outcome === "ok" || outcome === "error" };
      }
      throw new LudusError("tool-failed", { got: `${call.name}: ${result.stop}`, expected: "an answer" });
    },
    close: () => mcp.close(),
  };
}

function callIn(text: string): { name: string; arguments: Record<string, unknown> } | undefined {
  let json: unknown;
  try {
    json = parseBoundedJson(text);
  } catch {
    return undefined;
  }
  if (typeof json !== "object" || json === null || !("name" in json) || typeof json.name !== "string") return undefined;
  const args = "arguments" in json ? json.arguments : {};
  if (typeof args !== "object" || args === null || Array.isArray(args)) return undefined;
  return { name: json.name, arguments: args as Record<string, unknown> };
}
