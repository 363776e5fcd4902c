import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { replaceFolder } from "./atomic-folder.ts";

let place: string;
beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), "ludus-atomic-"));
});
afterEach(() => rmSync(place, { recursive: true }));

function fill(name: string, text: string): string {
  mkdirSync(join(place, name));
  writeFileSync(join(place, name, "text"), text);
  return join(place, name);
}

test("a filled folder takes the place of the one before, and leaves nothing beside it", () => {
  const target = join(place, "target");
  replaceFolder(fill("new.partial", "first"), target);
  mkdirSync(join(place, "new.partial.old")); // of a crash
  replaceFolder(fill("new.partial", "second"), target);
  expect(readFileSync(join(target, "text"), "utf8")).toBe("second");
  expect(readdirSync(place)).toEqual(["target"]);
});

test("one that is not there leaves the old folder as it was", () => {
  const target = fill("target", "old");
  expect(() => replaceFolder(join(place, "none"), target)).toThrow("ENOENT");
  expect(readFileSync(join(target, "text"), "utf8")).toBe("old");
  expect(readdirSync(place)).toEqual(["target"]);
});
