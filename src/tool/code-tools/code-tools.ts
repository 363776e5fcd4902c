import { posix } from "node:path";
import { z } from "zod";
import { refuseUnknownOptions } from "../../known-options.ts";
import { type MakeTool, tool } from "../define-tool.ts";
import type { Box } from "../sandbox/sandbox.ts";
import { type ToolContext, ToolError } from "../tool.ts";
import { insertAfter, numbered, replaceOnce } from "./edit-text.ts";
import { shellArgs } from "./shell.ts";
import {
  aroundStepMs,
  type CodeToolsOptions,
  defaultStepMs,
  knownCodeToolsOptions,
  printed,
  Workspace,
} from "./workspace.ts";

/** What a file was before each edit, the last one at the end. A box belongs to one episode. */
const histories = new WeakMap<Box, Map<string, string[]>>();
const maxUndo = 20;
const maxMatches = 100;

const editorInput = z.object({
  command: z.enum(["view", "create", "str_replace", "insert", "undo_edit"]),
  path: z.string().describe("relative to the root of the repository"),
  file_text: z.string().optional().describe("of create"),
  old_str: z.string().optional().describe("of str_replace: text that stands in the file once"),
  new_str: z.string().optional().describe("of str_replace and insert"),
  insert_line: z.int().min(0).optional().describe("of insert: the line after which new_str is put"),
  view_range: z.array(z.int().min(1)).length(2).optional().describe("of view: the first and the last line"),
});
type EditorInput = z.infer<typeof editorInput>;

/**
 * Tools to work on a repository in the episode's box, in the manner of R2E-Gym: `bash`, `file_editor`, `search`, `run_tests` and
 * `finish`. The box is opened with `files` by the first call.
 *
 *     tools: codeTools<State>({ files: (state) => state.files, tests: { command: "python3", args: ["-m", "unittest"] } }),
 */
export function codeTools<State>(options: CodeToolsOptions<State>) {
  refuseUnknownOptions("codeTools", options, knownCodeToolsOptions);
  const make: MakeTool<State> = tool;
  const open = (context: ToolContext<State>) => Workspace.open(context, options);
  const timeoutMs = (options.stepMs ?? defaultStepMs) + aroundStepMs;
  return {
    bash: make({
      description:
        "Runs a command of bash. The working folder, variables and functions stay from one call to the next; processes do not.",
      input: z.object({ command: z.string() }),
      timeoutMs,
      run: async ({ command }, context) => {
        const workspace = await open(context);
        workspace.note({ kind: "shell" });
        const ended = await workspace.run("The command", "bash", shellArgs(command));
        return [printed(ended), ended.code === 0 ? "" : `(exit code ${ended.code})`].filter(Boolean).join("\n");
      },
    }),
    file_editor: make({
      description:
        "Views a file or folder, creates a file, replaces text that stands in a file once, inserts lines, or undoes the last edit of a file.",
      input: editorInput,
      timeoutMs,
      run: async (input, context) => await edit(await open(context), input),
    }),
    search: make({
      description: "Finds text in files: path, number and text of each line that has it.",
      input: z.object({ text: z.string().min(1), path: z.string().default(".") }),
      timeoutMs,
      run: async ({ text, path }, context) => await searchText(await open(context), text, path),
    }),
    run_tests: make({
      description: "Runs the tests of the repository.",
      input: z.object({}),
      timeoutMs,
      run: async (_, context) => await runTests(await open(context)),
    }),
    finish: make({
      description: "Ends the work: the repository is judged as it is now.",
      input: z.object({ answer: z.string().default("") }),
      run: ({ answer }, context) => context.finish(answer),
    }),
  };
}

export async function runTests<State>(workspace: Workspace<State>): Promise<string> {
  const { tests } = workspace;
  const ended = await workspace.run("The run of the tests", tests.command, tests.args ?? []);
  workspace.tested(ended.code === 0);
  return printed(ended) || `exit code ${ended.code}`;
}

export async function searchText<State>(workspace: Workspace<State>, text: string, path: string): Promise<string> {
  if (/[\n\0]/.test(text + path)) throw new ToolError("search takes one line of text and a path.");
  const { code, stdout, stderr } = await workspace.run("The search", "grep", ["-rnIF", "-e", text, "--", path]);
  if (code > 1) throw new ToolError(stderr.trim());
  // in the order of paths, whatever that of the folder
  const found = stdout.split("\n").filter(Boolean).sort(byPlace);
  if (found.length === 0) return "No line has it.";
  const more = found.length > maxMatches ? [`(${found.length - maxMatches} more)`] : [];
  return [...found.slice(0, maxMatches).map((line) => line.replace(/^\.\//, "")), ...more].join("\n");
}

function byPlace(one: string, other: string): number {
  const [, path = "", line = ""] = /^(.*?):(\d+):/.exec(one) ?? [];
  const [, otherPath = "", otherLine = ""] = /^(.*?):(\d+):/.exec(other) ?? [];
  return path === otherPath ? Number(line) - Number(otherLine) : path < otherPath ? -1 : 1;
}

async function edit<State>(workspace: Workspace<State>, input: EditorInput): Promise<string> {
  const { command, path } = input;
  switch (command) {
    case "view":
      return await view(workspace, path, input.view_range);
    case "create": {
      if ((await workspace.read(path)) !== undefined) throw new ToolError(`There is a file ${path} already.`);
      await workspace.writeText(path, given(input, "file_text"));
      return `Created ${path}.`;
    }
    case "str_replace": {
      const [before, after] = [given(input, "old_str"), input.new_str ?? ""];
      return await change(workspace, path, (text) => replaceOnce(path, text, before, after));
    }
    case "insert": {
      const [line, added] = [given(input, "insert_line"), given(input, "new_str")];
      return await change(workspace, path, (text) => insertAfter(path, text, line, added));
    }
    case "undo_edit":
      return await undo(workspace, path);
    default:
      return command satisfies never;
  }
}

function given<Name extends keyof EditorInput>(input: EditorInput, name: Name): NonNullable<EditorInput[Name]> {
  const value = input[name];
  if (value === undefined) throw new ToolError(`${input.command} needs ${name}.`);
  return value;
}

async function view<State>(workspace: Workspace<State>, path: string, range?: readonly number[]): Promise<string> {
  const folder = await listFolder(workspace, path);
  if (folder !== undefined) return folder;
  const text = await workspace.readText(path);
  workspace.note({ kind: "viewed", path: posix.normalize(path) });
  if (text === "") return "(empty)";
  const shown = numbered(text, range?.[0], range?.[1]);
  if (shown === "") throw new ToolError(`${path} has no lines ${range?.join(" to ")}.`);
  return shown;
}

/** Two levels of it; undefined where it is none. */
async function listFolder<State>(workspace: Workspace<State>, path: string): Promise<string | undefined> {
  if (/\.\w+$/.test(path)) return undefined;
  const test = ["-c", 'cd -- "$1" 2>/dev/null && find . -mindepth 1 -maxdepth 2 -not -path "*/.*"', "sh", path];
  const { code, stdout } = await workspace.run("Listing the folder", "sh", test);
  if (code !== 0) return undefined;
  const paths = stdout.split("\n").filter(Boolean);
  return (
    paths
      .map((each) => each.slice(2))
      .sort()
      .join("\n") || "(empty)"
  );
}

async function change<State>(
  workspace: Workspace<State>,
  path: string,
  changed: (text: string) => string,
): Promise<string> {
  const before = await workspace.readText(path);
  const after = changed(before);
  await workspace.writeText(path, after);
  remember(workspace.box, path).push(before);
  return `Edited ${path}:\n${aroundChange(before, after)}`;
}

async function undo<State>(workspace: Workspace<State>, path: string): Promise<string> {
  const before = remember(workspace.box, path).pop();
  if (before === undefined) throw new ToolError(`There is no edit of ${path} to undo.`);
  await workspace.writeText(path, before);
  return `Undid the last edit of ${path}.`;
}

function remember(box: Box, given: string): string[] {
  const path = posix.normalize(given);
  const files = histories.get(box) ?? new Map<string, string[]>();
  histories.set(box, files);
  const texts = (files.get(path) ?? []).slice(-maxUndo);
  files.set(path, texts);
  return texts;
}

/** The lines that are different, with two on either side. */
function aroundChange(before: string, after: string): string {
  const [old, now] = [before.split("\n"), after.split("\n")];
  let first = 0;
  while (first < now.length && now[first] === old[first]) first++;
  let tail = 0;
  while (tail < now.length - first && now.at(-1 - tail) === old.at(-1 - tail)) tail++;
  return numbered(after, Math.max(1, first - 1), now.length - tail + 2);
}
