import { mkdtempSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeFolder } from "./make-folder.ts";

test("makes the folders above it, and leaves one that is there", () => {
  const folder = mkdtempSync(join(tmpdir(), "ludus-folder-"));
  const path = join(folder, "a/b/c");
  makeFolder(path);
  makeFolder(path);
  expect(statSync(path).isDirectory()).toBe(true);
});

test("says so where a file is in the way", () => {
  const file = join(mkdtempSync(join(tmpdir(), "ludus-folder-")), "file");
  writeFileSync(file, "");
  expect(() => makeFolder(join(file, "below"))).toThrow(/ENOTDIR/);
});

test.skipIf(process.platform !== "linux")("ends where nothing can be made", () => {
  expect(() => makeFolder("/proc/nope/below")).toThrow(/ENOENT/);
});
