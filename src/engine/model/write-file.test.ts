import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { writeBytes, writeFileAtomically, writeFolderAtomically } from "./write-file.ts";

const folder = mkdtempSync(join(tmpdir(), "ludus-write-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("writing a folder that fails leaves the old one as it was", () => {
  const path = join(folder, "kept");
  writeFolderAtomically(path, (partial) => writeFileSync(join(partial, "a"), "old"));
  expect(() =>
    writeFolderAtomically(path, (partial) => {
      writeFileSync(join(partial, "a"), "new");
      mkdirSync(join(partial, "a")); // exists: the writing fails half way
    }),
  ).toThrow("checkpoint-not-written");
  expect(readdirSync(folder).filter((name) => name.includes("partial"))).toEqual([]);
  expect(existsSync(join(path, "a"))).toBe(true);
});

test("writing a file that fails leaves the old one as it was", () => {
  const path = join(folder, "file");
  writeFileAtomically(path, (file) => writeBytes(file, Buffer.from("old")));
  expect(() =>
    writeFileAtomically(path, (file) => {
      writeBytes(file, Buffer.from("new"));
      throw Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC" });
    }),
  ).toThrow("no space left on device");
  expect(readFileSync(path, "utf8")).toBe("old");
  expect(readdirSync(folder).filter((name) => name.includes("partial"))).toEqual([]);
});
