import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, test } from "vitest";
import { entrySources, fileNameOf, isChecked } from "./docs/check-types.ts";
import { readPages } from "./docs/pages.ts";

// Every program on the pages runs, in one folder, page by page: some of them read the run that the page about training makes.
const run = promisify(execFile);
const root = resolve(".");
const makesTheRun = "docs/how-to/training.md";
const timeout = 600_000;

const pages = readPages()
  // `no-run`: needs files that are not here
  .map(({ path, blocks }) => ({
    path,
    blocks: blocks.filter((block) => isChecked(block) && block.info !== "no-run"),
  }))
  .filter(({ blocks }) => blocks.length > 0)
  .sort((a, b) => Number(b.path === makesTheRun) - Number(a.path === makesTheRun));

let folder: string;
const fileOf = (path: string, text: string, line: number) => join(folder, path, fileNameOf(text) ?? `line-${line}.ts`);

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "ludus-docs-"));
  linkPackages(join(folder, "node_modules"));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "user", private: true, type: "module" }));
  for (const { path, blocks } of pages) {
    for (const { text, line } of blocks) {
      mkdirSync(dirname(fileOf(path, text, line)), { recursive: true });
      writeFileSync(fileOf(path, text, line), text);
    }
  }
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.each(pages)("$path", ({ path, blocks }) => {
  test.each(blocks)("line $line", { timeout }, async ({ text, line }) => {
    const file = fileOf(path, text, line);
    const vitest = join(root, "node_modules/vitest/vitest.mjs");
    const args = file.endsWith(".test.ts") ? [vitest, "run", "--root", dirname(file), file] : [file];
    const env = Object.fromEntries(
      Object.entries(process.env).filter(([name]) => !/^(VITEST|NODE_ENV|TEST$)/.test(name)),
    );
    await run(process.execPath, args, { cwd: folder, env, maxBuffer: 64 * 1024 * 1024 }).catch((error) => {
      throw new Error(`${path}:${line} failed:\n${error.stdout}${error.stderr}`);
    });
  });
});

/** What `npm install` would give a project: `ludus`, here its sources, and what this repository has installed. */
function linkPackages(packages: string): void {
  mkdirSync(join(packages, "ludus"), { recursive: true });
  for (const name of readdirSync(join(root, "node_modules"))) {
    if (name !== "ludus") symlinkSync(join(root, "node_modules", name), join(packages, name));
  }
  const exports = Object.fromEntries(
    entrySources().map(([entry, source]) => [entry.replace(/^ludus/, "."), `./${source}`]),
  );
  writeFileSync(join(packages, "ludus/package.json"), JSON.stringify({ name: "ludus", type: "module", exports }));
  symlinkSync(join(root, "src"), join(packages, "ludus/src"));
}
