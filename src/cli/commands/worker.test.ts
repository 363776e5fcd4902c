import { expect, test } from "vitest";
import { runCommand } from "../testing/run-command.ts";

const nowhere = "postgres://ludus:p4ssw0rd@127.0.0.1:1/ludus";

test("a worker needs a server and something to play", async () => {
  for (const args of [["worker"], ["worker", "bandit"], ["worker", "--connect", nowhere]]) {
    const { status, stderr } = await runCommand(args);
    expect([status, stderr]).toEqual([2, expect.stringContaining("--connect postgres://")]);
  }
  const { status, stderr } = await runCommand(["worker", "bandit", "--connect", nowhere, "--parallel", "0"]);
  expect([status, stderr]).toEqual([2, expect.stringContaining("--parallel 0")]);
});

test("an environment that is misspelt is told before anything is connected", async () => {
  const { status, stderr } = await runCommand(["worker", "bandti", "--connect", nowhere]);
  expect([status, stderr]).toEqual([2, expect.stringMatching(/unknown-env.*bandit/s)]);
});

test("a server that is not there is an error, without its password", async () => {
  for (const args of [
    ["worker", "bandit", `--connect=${nowhere}`],
    ["cluster", nowhere],
  ]) {
    const { status, stderr } = await runCommand(args);
    expect([status, stderr]).toEqual([1, expect.stringContaining("store-unreachable")]);
    expect(stderr).not.toContain("p4ssw0rd");
  }
});
