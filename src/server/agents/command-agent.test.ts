import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { runRollout } from "../../rollout/run-rollout.ts";
import type { AgentDefinition } from "../agent-env.ts";
import { checkAgent } from "../check-agent.ts";
import { type CommandAgentOptions, commandAgent, modelVariables } from "./command-agent.ts";
import { finderEnv, playFinder } from "./testing/finder-env.ts";
import { findingModel } from "./testing/finding-model.ts";

const program = fileURLToPath(new URL("fixtures/command-agent.ts", import.meta.url));
const run = (mode: string) => ({ command: process.execPath, args: [program, mode] });

const envOf = (options: CommandAgentOptions, more: Partial<AgentDefinition<string>> = {}) =>
  finderEnv(commandAgent(options), more);

test("a program that knows nothing but the variables of its client is scored and recorded", async () => {
  process.env.SECRET_OF_THE_PARENT = "s3cret";
  const { stop, trajectories, failure } = await playFinder(envOf(run("answer")));
  delete process.env.SECRET_OF_THE_PARENT;
  expect(failure).toBeUndefined();
  expect(stop).toBe("completed");
  expect(trajectories).toHaveLength(1);
  expect(trajectories[0].score.total).toBe(1);
  expect(trajectories[0].turns.map(({ observation }) => observation)).toEqual(["found-7", ""]);
  const argument = await playFinder(envOf({ ...run("answer"), task: "argument" }));
  expect(argument.trajectories[0].score.total).toBe(1);
});

test("a program that fails, floods or is not there is a failure of the infrastructure, and the text says why", async () => {
  const failed = await playFinder(envOf(run("fail")));
  expect(failed.stop).toBe("env-crash");
  expect(failed.failure).toMatch(/agent-failed: got .*, which exited with code 3: the database is down/);
  const flooded = await playFinder(envOf({ ...run("flood"), outputBytes: 100_000 }));
  expect(flooded.failure).toMatch(/agent-failed: .*printed or returned too much/);
  const absent = await playFinder(envOf({ command: "no-such-agent" }));
  expect(absent.failure).toMatch(/agent-unreachable: got no-such-agent, which could not be started: ENOENT/);
  const silent = await playFinder(envOf({ command: "cat" }));
  expect(silent.failure).toMatch(/asked no model/);
});

test("keys that a program prints are in no failure", async () => {
  const script = 'echo "$DATABASE refused $OPENAI_API_KEY" >&2; exit 1';
  const options = { command: "sh", args: ["-c", script], env: { DATABASE: "hunter2hunter2" } };
  const { failure } = await playFinder(envOf(options, { serve: { apiKey: "open sesame" } }));
  expect(failure).toContain("[DATABASE] refused [apiKey]");
});

test("beyond the limits of the environment it is the policy's doing, whatever the program exits with", async () => {
  const { stop, trajectories } = await playFinder(envOf(run("answer")), "Find user-7 again and again");
  expect(stop).toBe("max-turns");
  expect(trajectories[0].turns).toHaveLength(3);
});

test("when the time is over the program is killed, with what it started", async () => {
  const folder = mkdtempSync(join(tmpdir(), "ludus-command-"));
  const record = join(folder, "pids");
  const env = envOf(run("hang"), { limits: { episodeMs: 60_000 } });
  const controller = new AbortController();
  const task = { id: "t", seed: 0, data: record };
  const options = { id: "a", seed: 3, signal: controller.signal };
  const played = runRollout(env, task, findingModel(), options);
  await until(() => existsSync(record) && readFileSync(record, "utf8").includes(" "));
  controller.abort();
  expect((await played).stop).toBe("cancelled");
  const pids = readFileSync(record, "utf8").split(" ").map(Number);
  expect(pids).toHaveLength(2);
  await until(() => pids.every((pid) => !isAlive(pid)));
  rmSync(folder, { recursive: true });
  expect(await playFinder(envOf({ command: "sleep", args: ["60"] }, { limits: { episodeMs: 200 } }))).toMatchObject({
    stop: "episode-timeout",
  });
});

async function until(isTrue: () => boolean): Promise<void> {
  for (let tries = 0; tries < 2000 && !isTrue(); tries++) await new Promise((resolve) => setTimeout(resolve, 5));
  expect(isTrue()).toBe(true);
}

/** A process that has ended may wait for its parent to take notice. */
function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

test("the clients of all four protocols find the policy in their own variables", () => {
  const access = { baseUrl: "http://127.0.0.1:1/rollouts/x/v1", apiKey: "k", model: "m", id: "i", seed: 2 };
  expect(modelVariables(access)).toMatchObject({
    OPENAI_BASE_URL: access.baseUrl,
    ANTHROPIC_BASE_URL: "http://127.0.0.1:1/rollouts/x",
    GOOGLE_GEMINI_BASE_URL: "http://127.0.0.1:1/rollouts/x",
    GEMINI_API_KEY: "k",
    LUDUS_SEED: "2",
  });
});

test("what is misspelt is refused; a check says that the program is not there", async () => {
  expect(() => commandAgent({ command: "x", arg: [] } as never)).toThrow(/unknown option "arg"; did you mean "args"/);
  expect(() => commandAgent({ command: "x", task: "file" as never })).toThrow(/"stdin" or "argument"/);
  const { findings } = await checkAgent(envOf({ command: "no-such-agent" }), { throw: false });
  expect(findings.map(({ code }) => code)).toEqual(["agent-unreachable"]);
});
