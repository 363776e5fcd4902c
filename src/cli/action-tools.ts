import { readFileSync } from "node:fs";
import { z } from "zod";
import { errorText } from "../errors.ts";
import type { ActionTool } from "../server/tools/action-tool.ts";
import { pythonAction, shellAction, sqlAction } from "../server/tools/code-tools.ts";
import { mcpAction, type SearchDocument, searchAction } from "../server/tools/lookup-tools.ts";
import { mcpTools } from "../tool/mcp-tools.ts";
import { usageError } from "./parse-options.ts";

export interface ActionToolsOptions {
  readonly names: readonly ("python" | "shell" | "sql" | "search")[];
  readonly timeoutMs: number;
  readonly database?: string;
  readonly documents?: string;
  readonly mcp?: string;
}

/** The tools that a command line names. */
export async function actionTools(options: ActionToolsOptions): Promise<ActionTool[]> {
  const { names, timeoutMs, database, documents, mcp } = options;
  if (names.length === 0 && mcp === undefined) {
    throw usageError("bad-usage", { got: "no tools", expected: "--tool python, shell, sql or search, or --mcp" });
  }
  const tools = [...new Set(names)].map((name): ActionTool => {
    switch (name) {
      case "python":
        return pythonAction({ timeoutMs });
      case "shell":
        return shellAction({ timeoutMs });
      case "sql":
        return sqlAction({ timeoutMs, database: bytesOf(needed(database, "sql", "--database <file>")) });
      case "search":
        return searchAction(documentsIn(needed(documents, "search", "--documents <file>")));
      default:
        return name satisfies never;
    }
  });
  if (mcp === undefined) return tools;
  const [command = "", ...args] = mcp.split(/\s+/).filter(Boolean);
  const server = /^https?:\/\//.test(mcp) ? { url: mcp } : { command, args };
  return [...tools, mcpAction(await mcpTools(server), { timeoutMs })];
}

function needed(value: string | undefined, tool: string, expected: string): string {
  if (value !== undefined) return value;
  throw usageError("bad-usage", { got: `--tool ${tool} alone`, expected });
}

function bytesOf(path: string): Uint8Array {
  try {
    return readFileSync(path);
  } catch (cause) {
    throw usageError("file-not-read", { got: errorText(cause), expected: "a file that can be read", cause });
  }
}

const Document = z.object({ title: z.string().optional(), text: z.string() });

function documentsIn(path: string): SearchDocument[] {
  const lines = Buffer.from(bytesOf(path)).toString("utf8").split("\n");
  return lines.flatMap((line, i) => {
    if (line.trim() === "") return [];
    const read = Document.safeParse(parsed(line));
    if (read.success) {
      const { title, text } = read.data;
      return [title === undefined ? { text } : { title, text }];
    }
    throw usageError("bad-documents", { got: `line ${i + 1} of ${path}`, expected: '{"title": "…", "text": "…"}' });
  });
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
