import { describe, expect, test } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { LudusError } from "../errors.ts";
import type { Command } from "./command.ts";
import { builtinCommands } from "./commands/index.ts";
import { nearest } from "./nearest.ts";
import { runCli } from "./run-cli.ts";

const failing: Command = {
  name: "train",
  summary: "Fail as asked",
  example: "ludus train mistake",
  async run([kind]) {
    if (kind === "bug") throw new TypeError("a bug");
    throw new LudusError("no-config", { got: "nothing", expected: "a file" });
  },
};

async function run(...args: string[]) {
  const written = { stdout: "", stderr: "" };
  const status = await runCli(args, [...builtinCommands, failing], {
    stdout: { write: (text) => (written.stdout += text) },
    stderr: { write: (text) => (written.stderr += text) },
  });
  return { status, ...written };
}

describe("ludus", () => {
  test.each([["--version"], ["-v"], ["version"]])("%s prints the package's version", async (arg) => {
    expect(await run(arg)).toEqual({ status: 0, stdout: `${packageJson.version}\n`, stderr: "" });
  });

  test("prints help with an example for --help and for no arguments", async () => {
    const { status, stdout } = await run("--help");
    expect(status).toBe(0);
    expect(stdout).toMatchInlineSnapshot(`
      "Ludus trains LLM agents with reinforcement learning.

      Usage: ludus <command> [arguments]

      Commands:
        version  Print the version of ludus
        train    Fail as asked

      Options:
        --help     Print this text
        --version  Print the version of ludus

      Example:
        ludus version
      "
    `);
    expect((await run()).stdout).toBe(stdout);
  });

  test("suggests the nearest command for an unknown one", async () => {
    const { status, stdout, stderr } = await run("trian");
    expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
    expect(stderr).toBe('unknown-command: got "trian", expected one of version, train. Did you mean "ludus train"?\n');
    expect((await run("zzzzzz")).stderr).toContain("See ludus --help.");
  });

  test("prints an expected failure as one line, and lets a bug through with its stack", async () => {
    expect(await run("train")).toMatchObject({ status: 1, stderr: "no-config: got nothing, expected a file.\n" });
    await expect(run("train", "bug")).rejects.toThrow("a bug");
  });
});

test("nearest finds a typing mistake, and nothing for a word that is like none", () => {
  const known = ["train", "eval", "doctor"];
  expect(nearest("TRAIN", known)).toBe("train");
  expect(nearest("docter", known)).toBe("doctor");
  expect(nearest("x", known)).toBeUndefined();
  expect(nearest("sample", known)).toBeUndefined();
  expect(nearest("x", [])).toBeUndefined();
});
