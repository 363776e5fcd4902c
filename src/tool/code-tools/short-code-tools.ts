import { posix } from "node:path";
import { z } from "zod";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import { type MakeTool, tool } from "../define-tool.ts";
import { type ToolContext, ToolError } from "../tool.ts";
import { runTests, searchText } from "./code-tools.ts";
import { linesOf, replaceLine } from "./edit-text.ts";
import { aroundStepMs, type CodeToolsOptions, defaultStepMs, knownCodeToolsOptions, Workspace } from "./workspace.ts";

export interface ShortCodeToolsOptions<State> extends CodeToolsOptions<State> {
  /** Of files that are named without one; `.py` if left out. */
  extension?: (state: State) => string;
}

/**
 * The same for models that have few tokens: `test`, `view file`, `edit file line text`, `find text` and `done`. `file` may leave out
 * its extension; an edited line keeps its indentation.
 */
export function shortCodeTools<State>(options: ShortCodeToolsOptions<State>) {
  const known: KnownOptions<ShortCodeToolsOptions<never>> = { ...knownCodeToolsOptions, extension: true };
  refuseUnknownOptions("shortCodeTools", options, known);
  const pathOf = (file: string, { state }: ToolContext<State>) =>
    file.includes(".") ? file : `${file}${options.extension?.(state) ?? ".py"}`;
  const make: MakeTool<State> = tool;
  const open = (context: ToolContext<State>) => Workspace.open(context, options);
  const timeoutMs = (options.stepMs ?? defaultStepMs) + aroundStepMs;
  return {
    test: make({
      description: "Runs the tests",
      input: z.object({}),
      timeoutMs,
      run: async (_, context) => await runTests(await open(context)),
    }),
    view: make({
      description: "Shows a file",
      input: z.object({ file: z.string() }),
      timeoutMs,
      run: async ({ file }, context) => {
        const workspace = await open(context);
        const path = pathOf(file, context);
        const text = await workspace.readText(path);
        workspace.note({ kind: "viewed", path: posix.normalize(path) });
        return linesOf(text)
          .map((line, index) => `${index + 1} ${line}`)
          .join("\n");
      },
    }),
    edit: make({
      description: "Replaces a line of a file",
      input: z.object({ file: z.string(), line: z.int().min(1), text: z.string() }),
      timeoutMs,
      run: async ({ file, line, text }, context) => {
        const workspace = await open(context);
        const path = pathOf(file, context);
        if (text.includes("\n")) throw new ToolError("One line at a time.");
        await workspace.writeText(path, replaceLine(path, await workspace.readText(path), line, text));
      },
    }),
    find: make({
      description: "Finds text in all files",
      input: z.object({ text: z.string().min(1) }),
      timeoutMs,
      run: async ({ text }, context) => await searchText(await open(context), text, "."),
    }),
    done: make({
      description: "Ends the work",
      input: z.object({}),
      run: (_, context) => context.finish(),
    }),
  };
}
