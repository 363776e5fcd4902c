import type { WantToSay } from "../../policy/call-format.ts";
import type { ExpertContext } from "../env.ts";
import type { Style } from "./moves.ts";
import type { RepositoryTask } from "./repository-tasks.ts";

/** What was done so far, as far as it was told by the tools. */
export interface RepositoryProgress {
  readonly files: Record<string, string>;
  readonly viewed: Set<string>;
  /** How the last run of the tests ended, and whether nothing was edited since. */
  tested: "never" | "failed" | "passed" | "before-edit";
}

type Context = Pick<ExpertContext<RepositoryTask, RepositoryProgress>, "task" | "state">;

/** Runs the tests, looks at the file, undoes whatever is wrong in it, runs the tests again, ends. */
export function fixBug({ task, state }: Context, style: Style): WantToSay {
  const say = words[style];
  const { path } = task.bug;
  if (state.tested === "never") return say.test();
  if (!state.viewed.has(path)) return say.view(path);
  for (const [file, right] of Object.entries(rightFiles(task))) {
    const [now, wanted] = [linesOf(state.files[file]), linesOf(right)];
    const index = wanted.findIndex((line, i) => line !== now[i]);
    if (index < 0) continue;
    return say.edit(file, index + 1, now[index] ?? "", wanted[index]!);
  }
  return state.tested === "passed" ? say.done() : say.test();
}

/** Tests, looks, ends, and lines put where they do not belong. */
export function listActions({ task, state }: Context, style: Style): WantToSay[] {
  const say = words[style];
  const { path, line, right, wrong } = task.bug;
  const paths = Object.keys(task.files);
  const indentation = (text: string) => /^\s*/.exec(text)![0];
  const now = linesOf(state.files[path]);
  const edits = now.flatMap((text, index) => {
    const isCode = /^\s+(return|if|for|let|\w+ =)/.test(text);
    const put = index + 1 === line ? (text.trim() === right ? wrong : right) : text.trim().replace(/\d+(;?)$/, "1$1");
    if (!isCode || put === text.trim()) return [];
    return [say.edit(path, index + 1, text, indentation(text) + put)];
  });
  return [say.test(), say.done(), ...paths.map((each) => say.view(each)), ...edits];
}

export function rightFiles({ files, bug }: RepositoryTask): Record<string, string> {
  const lines = linesOf(files[bug.path]);
  const wrong = lines[bug.line - 1]!;
  return {
    ...files,
    [bug.path]: lines
      .with(
        bug.line - 1,
        wrong.replace(bug.wrong, () => bug.right),
      )
      .join("\n"),
  };
}

const linesOf = (text = "") => text.split("\n");

interface RepositoryWords {
  test(): WantToSay;
  view(path: string): WantToSay;
  edit(path: string, line: number, before: string, after: string): WantToSay;
  done(): WantToSay;
}

const call = (name: string, given: Readonly<Record<string, unknown>> = {}): WantToSay => ({
  calls: [{ name, arguments: given }],
});

const shortName = (path: string) => path.replace(/\.(py|js)$/, "");

const words: Readonly<Record<Style, RepositoryWords>> = {
  compact: {
    test: () => call("test"),
    view: (path) => call("view", { file: shortName(path) }),
    edit: (path, line, _before, after) => call("edit", { file: shortName(path), line, text: after.trim() }),
    done: () => call("done"),
  },
  tags: {
    test: () => call("run_tests"),
    view: (path) => call("file_editor", { command: "view", path }),
    edit: (path, _line, before, after) =>
      call("file_editor", { command: "str_replace", path, old_str: before, new_str: after }),
    done: () => call("finish"),
  },
};
