import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { shippedEnvs } from "../../env/environments/index.ts";
import { runCli } from "../run-cli.ts";
import { builtinCommands } from "./index.ts";

const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url));

async function run(...args: string[]) {
  const written = { stdout: "", stderr: "" };
  const status = await runCli(["env", ...args], builtinCommands, {
    stdout: { write: (text) => (written.stdout += text) },
    stderr: { write: (text) => (written.stderr += text) },
  });
  return { status, ...written };
}

describe("list", () => {
  test("names every shipped environment, with what it is, its splits and its limits", async () => {
    const { status, stdout } = await run("list");
    expect(status).toBe(0);
    const width = Math.max(...Object.keys(shippedEnvs).map((name) => name.length));
    for (const [name, { description }] of Object.entries(shippedEnvs)) {
      expect(stdout.split("\n")).toContain(`  ${name.padEnd(width)}  ${description}`);
    }
    expect(stdout).toContain("train, test, mirrored; 16 turns of 4 tokens, 64 in all\n");
  });

  test("as JSON, and in another style", async () => {
    const [first] = JSON.parse((await run("list", "--json")).stdout);
    expect(first).toMatchObject({ name: "bandit", splits: ["train", "test"], limits: { turns: 1, turnTokens: 16 } });
    const [tagged] = JSON.parse((await run("list", "--json", "--style", "tags")).stdout);
    expect(tagged.limits.turnTokens).toBe(256);
  });
});

describe("check", () => {
  test("an environment that keeps its promises", async () => {
    const { status, stdout } = await run("check", "key-door", "--tasks", "1");
    expect(stdout).toMatch(/^key-door keeps its promises: \d+ episodes played\n$/);
    expect(status).toBe(0);
  });

  test("a user's file, as JSON", async () => {
    const { status, stdout } = await run("check", fixture("guess-env.ts"), "--json");
    expect(JSON.parse(stdout)).toMatchObject({ env: "guess", findings: [] });
    expect(status).toBe(0);
  });

  test("an agent, which is played with a model that is not there", async () => {
    const { status, stdout } = await run("check", fixture("agent-env.ts"), "--tasks", "1");
    expect(stdout).toMatch(/error agent-unknown-model: .*the model "helper", which is called "helper-model"/);
    expect(stdout).toMatch(/helper breaks \d of its promises/);
    expect(status).toBe(1);
  });

  test("one that does not", async () => {
    const { status, stdout } = await run("check", fixture("broken-env.ts"));
    expect(stdout).toMatch(/^error expert-never-succeeds: at none of 8 tasks.*\n {2}Is the score right\?/);
    expect(stdout).toMatch(/\nwarning no-description: /);
    expect(stdout).toMatch(/\nbroken breaks 1 of its promises: \d+ episodes played\n$/);
    expect(status).toBe(1);
  });
});

describe("serve", () => {
  /** Until its address was printed; then Ctrl-C. */
  async function serve(args: readonly string[], use: (url: string) => Promise<unknown>) {
    const listeners = new Map<string, () => void>();
    const url = Promise.withResolvers<string>();
    const status = runCli(["env", "serve", ...args], builtinCommands, {
      stdout: { write: (text) => url.resolve(text.trim()) },
      stderr: { write: (text) => text },
      on: (signal, listener) => listeners.set(signal, listener),
    });
    const used = await use(await Promise.race([url.promise, status.then(String)]));
    listeners.get("SIGINT")?.();
    return { used, status: await status };
  }
  const getJson = async (url: string) => (await fetch(url)).json();

  test("to clients of OpenEnv, until Ctrl-C", async () => {
    const { used, status } = await serve(["lock", "--openenv", "--style", "tags"], (url) => getJson(`${url}/metadata`));
    expect(used).toEqual({ name: "lock", description: shippedEnvs.lock!.description });
    expect(status).toBe(130);
  });

  test("to agents that speak MCP, by default", async () => {
    const { used } = await serve(["lock"], async (url) => url);
    expect(used).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/mcp$/);
  });
});

test.each([
  [["serve"], 2, /^no-env: got nothing/],
  [["serve", "lock", "--port", "70000"], 2, /^bad-option: got --port 70000/],
  [[], 2, /^bad-usage: got nothing, expected list, check or serve\. See ludus env --help\.\n$/],
  [["chekc"], 2, /Did you mean "ludus env check"\?/],
  [["check"], 2, /^no-env: got nothing, expected the name of an environment or a file/],
  [["check", "key-dor"], 2, /^unknown-env: got "key-dor", expected one of bandit, .* Did you mean "key-door"\?\n$/],
  [["check", "toString"], 2, /^unknown-env/],
  [["check", "./no-such.ts"], 2, /^no-env-file: got ".\/no-such\.ts", expected a file at \/.*no-such\.ts/],
  [
    ["check", fixture("no-env.ts")],
    1,
    /^no-env-in-file: got .*no-env\.ts with environment, expected an environment, exported as `env`/,
  ],
  [["check", fixture("guess-env.ts"), "--style", "tags"], 2, /^bad-option: got --style tags/],
  [["check", "lock", "--style", "tagz"], 2, /expected one of tags, compact\. Did you mean "tags"\?/],
])("env %j is refused with status %d", async (args, status, message) => {
  const result = await run(...args);
  expect(result).toMatchObject({ status, stdout: "" });
  expect(result.stderr).toMatch(message);
});
