import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { runCommand } from "../testing/run-command.ts";

test("list names every recipe and what it is to show", async () => {
  const { status, stdout } = await runCommand(["recipe", "list", "--json"]);
  expect(status).toBe(0);
  const listed: { system: string; claims: string[] }[] = JSON.parse(stdout);
  const folders = readdirSync("recipes").filter((name) => existsSync(join("recipes", name, "recipe.ts")));
  expect(listed.map(({ system }) => system).sort()).toEqual(folders.sort());
  expect(listed[0].system).toBe("ragen");
  expect(listed.every(({ claims }) => claims.length > 0)).toBe(true);
});

test("a system there is not, and none at all", async () => {
  const wrong = await runCommand(["recipe", "run", "serch-r1"]);
  expect(wrong.status).toBe(2);
  expect(wrong.stderr).toContain('Did you mean "ludus recipe run search-r1"?');
  expect((await runCommand(["recipe"])).stderr).toContain("expected list, run, tune or merge");
});

test.each([
  [["--shard", "3/2"], "got --shard 3/2, expected a part of so many"],
  [["--shard", "2"], "got --shard 2, expected a part of so many"],
  [["--shard", "1/2", "--jobs", "2"], "got --shard and --jobs, expected one of them"],
  [["--seeds", "0"], "got --seeds 0, expected at least one seed"],
])("run with %j is refused", async (args, message) => {
  const { status, stderr } = await runCommand(["recipe", "run", "tool-rl", ...args]);
  expect(status).toBe(2);
  expect(stderr).toContain(message);
});

test.each(["run", "tune"])("%s says at once that it cannot keep its arms", async (action) => {
  const { status, stderr } = await runCommand(["recipe", action, "tool-rl", "--records", "/dev/null/arms.jsonl"]);
  expect(status).toBe(1);
  expect(stderr).toContain("cannot-write: got /dev/null/arms.jsonl");
});

describe("arms of several files", () => {
  const folder = mkdtempSync(join(tmpdir(), "ludus-merge-"));
  const [one, two, all] = ["one", "two", "all"].map((name) => join(folder, `${name}.jsonl`));
  afterAll(() => rmSync(folder, { recursive: true }));

  test("are put together, each once, and judged", async () => {
    const arm = (seed: number, name: string, success: number) =>
      JSON.stringify({ seed, arm: name, measures: { success, early: success }, seconds: 1 });
    const arms = (seed: number) => [arm(seed, "GRPO, fine", 0.8 + seed / 100), arm(seed, "warm start", 0.3)];
    writeFileSync(one, `${[0, 1, 2].flatMap(arms).join("\n")}\n`);
    writeFileSync(two, `${[2, 3, 4].flatMap(arms).join("\n")}\n`);
    const { status, stdout } = await runCommand(["recipe", "merge", "tool-rl", one, two, "--records", all, "--json"]);
    expect(status).toBe(0);
    const { held, of, claims, seeds } = JSON.parse(stdout.trim().split("\n").at(-1)!);
    expect({ held, of, seeds }).toEqual({ held: 1, of: 6, seeds: 5 });
    expect(claims[1]).toMatchObject({ effect: 0.52, holds: true });
    expect(claims[0]).toMatchObject({ holds: false, because: "0 of at least 5 seeds" });
    expect(readFileSync(all, "utf8").trim().split("\n")).toHaveLength(10);
    const again = await runCommand(["recipe", "merge", "tool-rl", one, "--records", all]);
    expect(again.stdout).toContain("1 of 6 published claims hold here");
    expect(readFileSync(all, "utf8").trim().split("\n")).toHaveLength(10);
  });

  test("that are not there are named", async () => {
    const { status, stderr } = await runCommand(["recipe", "merge", "tool-rl", join(folder, "none.jsonl")]);
    expect(status).toBe(2);
    expect(stderr).toContain('none.jsonl", which is not there');
  });
});
