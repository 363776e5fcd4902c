import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { fromScratch } from "../train/from-scratch.ts";
import { explainError } from "./explain-error.ts";

function thrownBy(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
}

const missing = () => thrownBy(() => readFileSync("/nowhere/at/all"));

test("what the operating system refuses is one line: what, where, what to do", () => {
  expect(explainError(missing(), false)).toBe(
    "system-error: got ENOENT at /nowhere/at/all (open), expected a file or folder that exists. " +
      "Is the path right, and does the folder above it exist?",
  );
});

test.each(["EACCES", "EPERM", "EROFS", "ENOTDIR", "EISDIR", "ENOSPC", "EMFILE"])("%s is explained", (code) => {
  const error = Object.assign(new Error(`${code}: refused`), { code, syscall: "write", path: "runs/first" });
  const said = explainError(error, false);
  expect(said).toMatch(new RegExp(`^system-error: got ${code} at runs/first \\(write\\), expected .+\\. [A-Z].+`));
  expect(said).not.toContain("\n");
});

test("a misspelt option is told with the place in the user's file", () => {
  const error = thrownBy(() => fromScratch({ sise: "tiny" } as never)) as Error;
  error.stack = `${error.stack?.split("\n")[0]}\n    at fromScratch (${new URL("../train/from-scratch.ts", import.meta.url)}:1:2)
    at file:///home/ada/train.ts:9:11\n    at node:internal/modules:1:1`;
  expect(explainError(error, false)).toBe(
    'fromScratch: unknown option "sise"; did you mean "size"? (/home/ada/train.ts:9:11)',
  );
});

test("a bug is told with its stack and its causes, and everything is where that is asked for", () => {
  const bug = new TypeError("a bug", { cause: new Error("deeper") });
  expect(explainError(bug, false)).toMatch(/^TypeError: a bug\n +at .*[\s\S]*\nCaused by: Error: deeper\n +at /);
  expect(explainError(missing(), true)).toMatch(/^Error: ENOENT.*\n +at /);
  expect(explainError("just a text", false)).toBe("just a text");
});
