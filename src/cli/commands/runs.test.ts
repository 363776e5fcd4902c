import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openRun } from "../../store/index.ts";
import { runCommand } from "../testing/run-command.ts";
import { fakeConfigFile, trainedRun } from "../testing/trained-run.ts";

let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "ludus-runs-"));
  for (const [index, name] of ["old", "new"].entries()) {
    const run = await trainedRun(fakeConfigFile, join(folder, name), "--set", "steps=2");
    utimesSync(join(run, "run.sqlite"), 1e9 + index, 1e9 + index);
  }
});
afterAll(() => rmSync(folder, { recursive: true }));

test("runs are listed newest first, with how they went", async () => {
  const { status, stdout } = await runCommand(["runs", folder]);
  expect(status).toBe(0);
  const [heads, ...rows] = stdout.trimEnd().split("\n");
  expect(heads).toMatch(/^run +environment +algorithm +steps +success +eval +last change +state$/);
  expect(rows).toHaveLength(2);
  expect(rows[0]).toMatch(/^new +letters +grpo +2\/2 +[\d.]+ +[\d.]+ +2001-09-0\d \d\d:\d\d +finished$/);
  expect(rows[1]).toMatch(/^old /);
});

test("--json has all that is known, --limit the newest", async () => {
  const all = JSON.parse((await runCommand(["runs", folder, "--json"])).stdout);
  expect(all).toMatchObject([
    { id: "new", env: "letters", steps: 2, plannedSteps: 2, status: "finished", eval: expect.any(Number) },
    { id: "old" },
  ]);
  const { stdout } = await runCommand(["runs", folder, "--limit", "1"]);
  expect(stdout).toContain("\nand 1 more: --limit 2\n");
});

test("one run that cannot be read does not hide the others", async () => {
  mkdirSync(join(folder, "damaged"), { recursive: true });
  writeFileSync(join(folder, "damaged", "run.sqlite"), "not a database at all, and long enough to look like a file");
  const { status, stdout } = await runCommand(["runs", folder]);
  expect(status).toBe(0);
  expect(stdout).toMatch(/^damaged .* unreadable: /m);
  expect(stdout).toMatch(/^old /m);
  rmSync(join(folder, "damaged"), { recursive: true });
});

test("a run whose process is gone is interrupted, not running", async () => {
  const run = await trainedRun(fakeConfigFile, join(folder, "killed"), "--set", "steps=2");
  const database = new DatabaseSync(join(run, "run.sqlite"));
  // what a killed process leaves: everything but the end
  database.exec("DELETE FROM events WHERE type = 'run-end'");
  database.close();
  expect((await runCommand(["runs", folder])).stdout).toMatch(/^killed .* interrupted$/m);
  const writer = await openRun(run, { now: () => 0 });
  expect((await runCommand(["runs", folder])).stdout).toMatch(/^killed .* running$/m);
  await writer.close();
  rmSync(run, { recursive: true });
});

test("a folder without runs, and one that is not there", async () => {
  mkdirSync(join(folder, "empty"));
  expect((await runCommand(["runs", join(folder, "empty")])).stdout).toMatch(
    /^No runs in .*empty\. ludus train makes one/,
  );
  const missing = await runCommand(["runs", join(folder, "nowhere")]);
  expect(missing).toMatchObject({
    status: 2,
    stderr: expect.stringMatching(/^no-such-folder: .*ludus train makes runs/),
  });
});
