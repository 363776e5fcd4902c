import { expect, test } from "vitest";
import { runCommand } from "../testing/run-command.ts";

test("list names every recipe and what it is to show", async () => {
  const { status, stdout } = await runCommand(["recipe", "list", "--json"]);
  expect(status).toBe(0);
  const systems = JSON.parse(stdout).map(({ system }: { system: string }) => system);
  expect(systems).toEqual(["ragen", "agent-r1", "tool-rl", "search-r1", "agent-rlvr", "ui-r1"]);
});

test("a system there is not, and none at all", async () => {
  const wrong = await runCommand(["recipe", "run", "serch-r1"]);
  expect(wrong.status).toBe(2);
  expect(wrong.stderr).toContain('Did you mean "ludus recipe run search-r1"?');
  expect((await runCommand(["recipe"])).stderr).toContain("expected list or run");
});
