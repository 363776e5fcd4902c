import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { pagesThatDiffer } from "../bench/all-pages.ts";

const root = join(import.meta.dirname, "..");
let copy: string | undefined;
afterEach(() => {
  if (copy !== undefined) rmSync(copy, { recursive: true, force: true });
});

test("every page of docs/results is what the records in the repository give", () => {
  expect(pagesThatDiffer(root)).toEqual([]);
});

test("a changed figure and a page that no record gives are found", () => {
  copy = mkdtempSync(join(tmpdir(), "ludus-results-"));
  for (const folder of ["bench/results", "docs/results", "recipes"]) {
    cpSync(join(root, folder), join(copy, folder), { recursive: true });
  }
  const page = join(copy, "docs/results/worlds.md");
  writeFileSync(page, readFileSync(page, "utf8").replace(/\b0\.(\d{3})\b/, "0.9999"));
  const readme = join(copy, "recipes/hindsight/README.md");
  writeFileSync(readme, readFileSync(readme, "utf8").replace(/\*\*\d+ of/, "**6 of"));
  writeFileSync(join(copy, "docs/results/by-hand.md"), "# Made up\n");
  expect(pagesThatDiffer(copy)).toEqual([
    "docs/results/by-hand.md: made from no record",
    "recipes/hindsight/README.md:4: differs from what the record gives",
    expect.stringMatching(/^docs\/results\/worlds\.md:\d+: differs from what the record gives$/),
  ]);
});
