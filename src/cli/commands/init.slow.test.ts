import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCommand } from "../testing/run-command.ts";
import { linkPackages, ludus, runIn } from "../testing/scaffold.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "ludus-init-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

test.each([0, 1, 2])("a new project learns out of the box, seed %d", async (seed) => {
  const project = join(folder, `seed-${seed}`);
  await runCommand(["init", project, "--quiet"]);
  linkPackages(project);
  const said = await runIn(project, ludus, "train", "train.ts", "--json", "--quiet", "--set", `seed=${seed}`);
  const { before, after } = JSON.parse(said);
  expect(before.success.mean).toBeLessThan(0.6);
  expect(after.success.low).toBeGreaterThan(0.7);
});

test("its training file runs by itself", async () => {
  const project = join(folder, "alone");
  await runCommand(["init", project, "--quiet"]);
  linkPackages(project);
  expect(await runIn(project, "train.ts")).toMatch(
    /success on tasks it was not trained on: 0\.\d+ before, 0\.[789]\d* after/,
  );
});
