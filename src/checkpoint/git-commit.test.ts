import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { gitCommit } from "./git-commit.ts";

const root = mkdtempSync(join(tmpdir(), "ludus-git-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

function git(...args: string[]): void {
  const identity = ["-c", "user.name=a", "-c", "user.email=a@b.c"];
  const { status, stderr } = spawnSync("git", [...identity, ...args], { cwd: root, encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
}

test("is absent outside of a checkout, and says whether sources were changed", () => {
  expect(gitCommit(root, ["src"])).toBeUndefined();
  git("init", "--quiet");
  expect(gitCommit(root, ["src"])).toBeUndefined();
  mkdirSync(join(root, "src"));
  writeFileSync(join(root, "src", "a.ts"), "1");
  git("add", ".");
  git("commit", "--quiet", "-m", "one");
  const commit = gitCommit(root, ["src"]);
  expect(commit).toMatch(/^[0-9a-f]{7,}$/);
  writeFileSync(join(root, "notes.md"), "not a source");
  expect(gitCommit(root, ["src"])).toBe(commit);
  // an installed package in somebody's repository is not that repository
  expect(gitCommit(join(root, "src"), ["."])).toBeUndefined();
  writeFileSync(join(root, "src", "a.ts"), "2");
  expect(gitCommit(root, ["src"])).toBe(`${commit}+changes`);
});
