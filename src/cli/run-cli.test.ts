import { describe, expect, test, vi } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { LudusError } from "../errors.ts";
import type { Command } from "./command.ts";
import { builtinCommands } from "./commands/index.ts";
import { parseOptions } from "./parse-options.ts";
import { runCli } from "./run-cli.ts";

const failing: Command = {
  name: "fail",
  summary: "Fail as asked",
  example: "ludus fail mistake",
  async run([kind]) {
    if (kind === "bug") throw new TypeError("a bug");
    throw new LudusError("no-config", { got: "nothing", expected: "a file" });
  },
};

const greet: Command = {
  name: "greet",
  summary: "Say hello",
  usage: "[name]",
  options: {
    loud: { type: "boolean", summary: "In capitals" },
    times: { type: "number", summary: "How often" },
    pitch: { type: "real", summary: "How high" },
    also: { type: "string", value: "name", isMany: true, summary: "Others" },
  },
  example: "ludus greet Ada --loud",
  async run(args, { stdout }) {
    const { values, positionals } = parseOptions(args, greet.options!);
    stdout.write(JSON.stringify({ values, positionals }));
    return 0;
  },
};

async function run(...args: string[]) {
  const written = { stdout: "", stderr: "" };
  const status = await runCli(args, [...builtinCommands, failing, greet], {
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
        init         Create a project: an environment, a training file, a test
        play         Play an environment yourself, with the prompts that a model gets
        env          List environments, check that one keeps its contract, or serve one
        train        Train a policy from a configuration file, and store the run in a folder
        worker       Play episodes for trainers elsewhere, taking work from a PostgreSQL server
        cluster      Show workers, samplers and trainers on a PostgreSQL server, and their rates
        sweep        Train a file with several values and seeds, and compare held-out success
        eval         Evaluate a policy on held-out tasks
        runs         List the runs in a folder or on a server, newest first
        checkpoints  List the checkpoints of a run, with held-out success and size
        replay       Show an episode of a run turn by turn, or list episodes
        compare      Compare two runs: success, metrics, curves, configuration
        doctor       Diagnose a run: findings with evidence and remedy
        dashboard    Show runs in the browser, live: curves, trajectories, manual play
        serve        Serve a checkpoint with OpenAI's, Anthropic's and Google's protocols
        boxes        Give boxes for a model's code to other machines
        tools        Serve tools to trainers elsewhere, with Verl-Tool's protocol
        export       Export a run's episodes, metrics or model to other formats
        recipe       Reproduce published systems in small, each with its baselines
        bench        Measure how fast this machine samples and trains
        version      Print the version of ludus
        fail         Fail as asked
        greet        Say hello

      Options:
        --help     Print this text; after a command, its options
        --version  Print the version of ludus
        --stack    After an error, print where in the program it arose

      Example:
        ludus init my-agent
      "
    `);
    expect((await run()).stdout).toBe(stdout);
  });

  test("suggests the nearest command for an unknown one", async () => {
    const { status, stdout, stderr } = await run("trian");
    expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
    expect(stderr).toMatch(
      /^unknown-command: got "trian", expected one of init, .*, fail, greet\. Did you mean "ludus train"\?\n$/,
    );
    expect((await run("zzzzzz")).stderr).toContain("See ludus --help.");
  });

  test("prints an expected failure as one line, a bug with its stack, and all of it with --stack or DEBUG", async () => {
    expect(await run("fail")).toMatchObject({ status: 1, stderr: "no-config: got nothing, expected a file.\n" });
    const stack = /^\w+: .*\n +at /;
    expect(await run("fail", "bug")).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/^TypeError: a bug\n +at /),
    });
    expect(await run("fail", "--stack")).toMatchObject({ status: 1, stderr: expect.stringMatching(stack) });
    vi.stubEnv("DEBUG", "ludus");
    expect(await run("fail")).toMatchObject({ status: 1, stderr: expect.stringMatching(stack) });
    vi.unstubAllEnvs();
  });
});

describe("a command with options", () => {
  test("prints its own help, wherever that is asked for", async () => {
    const { status, stdout } = await run("greet", "--help");
    expect(status).toBe(0);
    expect(stdout).toMatchInlineSnapshot(`
      "Say hello

      Usage: ludus greet [name] [options]

      Options:
        --loud            In capitals
        --times <number>  How often
        --pitch <number>  How high
        --also <name> …   Others
        --help            Print this text

      Example:
        ludus greet Ada --loud
      "
    `);
    expect((await run("greet", "Ada", "-h")).stdout).toBe(stdout);
    expect((await run("fail", "--help")).stdout).toContain("Example:\n  ludus fail mistake\n");
  });

  test("reads flags, values and the rest in any order", async () => {
    const read = async (...args: string[]) => JSON.parse((await run("greet", ...args)).stdout);
    const expected = { values: { loud: true, times: 3 }, positionals: ["Ada", "Eve"] };
    expect(await read("Ada", "--loud", "Eve", "--times", "3")).toEqual(expected);
    expect(await read("--times=3", "--loud", "--", "Ada", "Eve")).toEqual(expected);
    expect(await read()).toEqual({ values: {}, positionals: [] });
    expect(await read("--pitch", "-0.5", "--also", "Eve", "--also=Bob")).toMatchObject({
      values: { pitch: -0.5, also: ["Eve", "Bob"] },
    });
    expect(await read("--", "--loud", "--help")).toEqual({ values: {}, positionals: ["--loud", "--help"] });
  });

  test.each([
    [
      ["--luod"],
      'unknown-option: got --luod, expected one of --loud, --times, --pitch, --also, --help. Did you mean "--loud"?',
    ],
    [["-x"], "unknown-option: got -x, expected one of --loud, --times, --pitch, --also, --help."],
    [["--__proto__"], "unknown-option: got --__proto__, expected one of --loud, --times, --pitch, --also, --help."],
    [["--times"], "bad-option: got --times without a value, expected a number."],
    [["--times", "few"], "bad-option: got --times few, expected a whole number of at least 0."],
    [["--times", "-1"], "bad-option: got --times -1, expected a whole number of at least 0."],
    [["--times", "1e3"], "bad-option: got --times 1e3, expected a whole number of at least 0."],
    [["--pitch", "high"], "bad-option: got --pitch high, expected a number."],
    [["--pitch="], "bad-option: got --pitch , expected a number."],
    [["--loud=yes"], "bad-option: got --loud=yes, expected --loud alone."],
  ])("does not understand %j", async (args, message) => {
    expect(await run("greet", ...args)).toEqual({ status: 2, stdout: "", stderr: `${message}\n` });
  });
});
