import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import packageJson from "../../../package.json" with { type: "json" };
import { runCommand } from "../testing/run-command.ts";
import { linkPackages, ludus, runIn } from "../testing/scaffold.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "ludus-init-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const names = [".gitignore", "env.test.ts", "env.ts", "package.json", "train.ts", "tsconfig.json"];

test("a project is written into a new folder, with what to do next", async () => {
  const project = join(folder, "My Agent");
  const { status, stdout } = await runCommand(["init", project]);
  expect(status).toBe(0);
  expect(readdirSync(project).sort()).toEqual(names);
  expect(stdout).toContain("wrote env.ts\n");
  expect(stdout).toMatch(/Next:\n {2}cd .*My Agent && npm install\n {2}npm test/);
  const written = JSON.parse(readFileSync(join(project, "package.json"), "utf8"));
  expect(written).toMatchObject({
    name: "my-agent",
    private: true,
    dependencies: { ludus: `^${packageJson.version}` },
  });
  expect(written.engines).toEqual(packageJson.engines);
});

test("package.json has the setting that the README names", async () => {
  const project = join(folder, "scripts");
  await runCommand(["init", project, "--quiet"]);
  const readme = readFileSync("README.md", "utf8");
  const wanted = JSON.parse(`{${/```json\n("allowScripts".*)\n```/.exec(readme)![1]}}`);
  expect(JSON.parse(readFileSync(join(project, "package.json"), "utf8"))).toMatchObject(wanted);
});

test("a folder that is not empty is refused, and with --force nothing in it is replaced", async () => {
  const project = join(folder, "full");
  mkdirSync(join(project, ".git"), { recursive: true });
  expect((await runCommand(["init", project, "--quiet"])).status).toBe(0);
  writeFileSync(join(project, "env.ts"), "// mine\n");
  rmSync(join(project, "train.ts"));
  const refused = await runCommand(["init", project]);
  expect(refused).toMatchObject({ status: 2, stderr: expect.stringMatching(/^folder-not-empty: .*--force/) });
  const { stdout } = await runCommand(["init", project, "--force"]);
  expect(stdout).toContain("kept env.ts, which was there\n");
  expect(stdout).toContain("wrote train.ts\n");
  expect(readFileSync(join(project, "env.ts"), "utf8")).toBe("// mine\n");
  expect(await runCommand(["init", join(project, "env.ts")])).toMatchObject({
    status: 2,
    stderr: expect.stringContaining("a file"),
  });
});

test("the project type-checks, its test passes, and it trains", async () => {
  const project = join(folder, "works");
  await runCommand(["init", project, "--quiet"]);
  linkPackages(project);
  await runIn(project, "node_modules/typescript/bin/tsc");
  expect(await runIn(project, "node_modules/vitest/vitest.mjs", "run", "--no-color")).toMatch(/Tests +1 passed/);
  const short = ["--set", "warmStart.steps=2", "--set", "steps=1", "--set", "eval.tasks=4", "--set", "tasksPerStep=2"];
  const trained = await runIn(project, ludus, "train", "train.ts", ...short);
  expect(trained).toContain("finished after 3 steps");
  expect(readdirSync(join(project, "runs"))).toEqual([".warm-starts", "key-hunt-1"]);
}, 120_000);
