import { execFileSync } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import type { Claim } from "../src/recipe/claim.ts";

// Claims of recipes are declared before they are measured, and never fitted to their results afterwards.

const root = fileURLToPath(new URL("..", import.meta.url));
const files = globSync("recipes/*/claims.ts", { cwd: root }).sort();
const results = /^recipes\/[^/]+\/(result|records)/;

function git(...args: string[]): string {
  return execFileSync("git", args, { cwd: root, encoding: "utf8" });
}

function hasHistory(): boolean {
  try {
    return git("rev-parse", "--is-shallow-repository").trim() === "false";
  } catch {
    return false; // not a clone
  }
}

async function claimsIn(text: string): Promise<readonly Claim[]> {
  const folder = mkdtempSync(join(tmpdir(), "ludus-claims-"));
  try {
    const file = join(folder, "claims.mts");
    writeFileSync(file, text);
    const module: Readonly<Record<string, readonly Claim[]>> = await import(pathToFileURL(file).href);
    return Object.values(module)[0];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Commits that changed a file, the first one first. */
const commitsOf = (file: string) => git("log", "--reverse", "--format=%H", "--", file).split("\n").filter(Boolean);

// elsewhere a shallow clone or a packed copy leaves the comparisons out
test.runIf(process.env.CI)("CI has the history that claims are compared with", () => {
  expect(hasHistory(), "check out with the whole history: fetch-depth: 0").toBe(true);
});

test("every recipe declares claims", () => {
  const recipes = globSync("recipes/*/recipe.ts", { cwd: root }).map((file) => file.replace("recipe.ts", "claims.ts"));
  expect(files).toEqual(recipes.sort());
});

describe.each(files)("%s", (file) => {
  test("says what is published, where, and which difference would matter", async () => {
    for (const { statement, source, smallest, method, baseline } of await claimsIn(
      readFileSync(join(root, file), "utf8"),
    )) {
      expect(statement).toMatch(/\.$/);
      expect(source).toMatch(/arXiv \d{4}\.\d{5}/);
      expect(smallest).toBeGreaterThan(0);
      expect(method).not.toBe(baseline);
    }
  });

  test.runIf(hasHistory())("has its first claims as they were first committed", async () => {
    const [first] = commitsOf(file);
    if (first === undefined) return; // not committed yet
    const now = await claimsIn(readFileSync(join(root, file), "utf8"));
    expect(now).toEqual(expect.arrayContaining([...(await claimsIn(git("show", `${first}:${file}`)))]));
  });

  test.runIf(hasHistory())("was never changed together with results", () => {
    for (const commit of commitsOf(file)) {
      const changed = git("show", "--format=", "--name-only", commit).split("\n");
      expect(
        changed.filter((name) => results.test(name)),
        commit,
      ).toEqual([]);
    }
  });
});
