import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { hermes } from "../../policy/formats/hermes.ts";
import { listed } from "../../task/listed.ts";
import { defineEnv } from "../define-env.ts";
import type { Env } from "../env.ts";
import { keyDoor } from "../environments/key-door.ts";
import { Episode } from "../episode.ts";
import { serveEnv } from "../serve-env.ts";
import { openEnv } from "./open-env.ts";

// scripts/setup-environments.sh; LUDUS_ENVIRONMENTS=.venv-environments/bin/python npm run test:slow -- open-env
const python = process.env.LUDUS_ENVIRONMENTS;
if (!python)
  console.log("OpenEnv is not compared with: LUDUS_ENVIRONMENTS names no Python (scripts/setup-environments.sh)");

const fixture = (name: string) => fileURLToPath(new URL(`fixtures/${name}`, import.meta.url));
const { signal } = new AbortController();

let server: ChildProcess | undefined;
afterEach(async () => {
  const started = server;
  server = undefined;
  if (started === undefined || started.exitCode !== null) return;
  const ended = once(started, "exit");
  // uvicorn waits for threads, and one of them hangs
  started.kill("SIGKILL");
  await ended;
});

async function startPython(kind: string): Promise<string> {
  const listener = createServer().listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = listener.address() as { port: number };
  await new Promise((done) => listener.close(done));
  const started = spawn(python!, [fixture("echo_server.py"), kind, String(port)], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  server = started;
  let output = "";
  started.stderr?.on("data", (text) => (output += text));
  const url = `http://127.0.0.1:${port}`;
  for (let waited = 0; waited < 120_000; waited += 500) {
    const isUp = await fetch(`${url}/health`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isUp) return url;
    if (started.exitCode !== null) break;
    await wait(500);
  }
  throw new Error(`OpenEnv's server did not start:\n${output}`);
}

async function play(env: unknown, texts: readonly string[], limits = {}) {
  const own = { ...(env as Env), limits: { ...(env as Env).limits, ...limits } };
  const episode = new Episode(own, { id: "t", seed: 1, data: { seed: 7 } }, { signal });
  let next = await episode.start();
  for (const text of texts) if ("role" in next) next = await episode.step(text);
  return episode.finish("role" in next ? { stop: "max-turns" } : next);
}

const inPython = async (kind: string, url: string) => {
  const { stdout } = await promisify(execFile)(python!, [fixture("play_client.py"), kind, url]);
  return JSON.parse(stdout);
};
const valid = {
  passed_count: 6,
  total_count: 6,
  failed_criteria: [],
  required_passed_count: 6,
  required_total_count: 6,
};

describe.skipIf(!python)("OpenEnv's own package", () => {
  test("its server is an environment here: words, rewards, exceptions, time limits", async () => {
    const env = await openEnv({ url: await startPython("echo") });
    const { turns, scores, stop } = await play(env, ["hello <|im_end|>", "end", "never said"]);
    expect(turns.map(({ observation, reward }) => [observation, reward])).toEqual([
      ["echoed: hello <|im_end|>\nlength: 16", 0],
      ["echoed: end\nlength: 3", 1],
    ]);
    expect([stop, scores.agent.success]).toEqual(["completed", true]);
    expect(await play(env, ["boom"])).toMatchObject({ stop: "env-crash", failure: expect.stringContaining("boom") });
    expect(await play(env, ["hang"], { envMs: 300 })).toMatchObject({ stop: "env-timeout" });
    const { state, say } = await env.start({ task: { seed: 3, episode_id: "e" }, rng: undefined as never, signal });
    expect(say).toBe("echoed: ready 3\nlength: 0");
    expect(await state.serverState(signal)).toMatchObject({ episode_id: "e", step_count: 0 });
    await env.close?.(state);
    const together = await Promise.all(Array.from({ length: 48 }, () => play(env, ["a", "end"])));
    expect(together.map(({ scores: { agent } }) => agent.total)).toEqual(Array(48).fill(1));
  });

  test("its MCP environment has tools here", async () => {
    const env = await openEnv({ url: await startPython("tools") });
    expect(Object.keys(env.tools ?? {})).toEqual(["add"]);
    const call = (args: object) => hermes().write({ calls: [{ name: "add", arguments: args as never }] });
    const { turns, stop } = await play(env, [call({ a: 2, b: 40 }), call({ a: "x", b: 1 }), "42"]);
    expect(turns[0].observation).toBe("42");
    expect(turns[1].observation).toMatch(/^Error: /);
    expect(stop).toBe("completed");
  });

  test("its client plays ours, and its validator finds nothing; 200 at once", async () => {
    const served = await serveEnv(keyDoor({ style: "compact", length: 4 }), { port: 0, protocol: "openenv" });
    try {
      expect(await inPython("text", served.url!)).toEqual({
        report: {
          told: [
            ["KDG", 0, false],
            ["ADG+", 0, false],
            ["AdG+", 0, false],
            [".AG+", 0, false],
            [".dA+", 1, true],
          ],
          state: { episode_id: expect.any(String), step_count: 4, task: expect.any(String), done: true },
          errors: [expect.stringContaining("the episode is over"), expect.stringContaining("VALIDATION_ERROR")],
          again: "KDG",
        },
        valid,
      });
      expect((await inPython("many", served.url!)).report).toBe(200);
    } finally {
      await served.close();
    }
  });

  test("its MCP client calls our tools, by steps and over HTTP", async () => {
    const env = defineEnv({
      name: "sums",
      tasks: listed({ train: ["x"], test: ["y"] }),
      start: () => ({ state: {}, say: "Add." }),
      tools: (tool) => ({
        add: tool({
          description: "Adds",
          input: z.object({ a: z.number(), b: z.number() }),
          run: ({ a, b }) => a + b,
        }),
      }),
    });
    const served = await serveEnv(env, { port: 0, protocol: "openenv" });
    try {
      expect(await inPython("tools", served.url!)).toEqual({
        report: {
          listed: ["add"],
          found: "5",
          error: expect.stringContaining("wrong arguments"),
          over_http: ["start_episode", "say", "finish", "add"],
          started: "Add.",
          sum_over_http: "9",
        },
        valid,
      });
    } finally {
      await served.close();
    }
  });

  // TRL is in the Python of the parity suites (scripts/setup-python.sh), OpenEnv in this one: both have to be of the same version
  test.skipIf(!process.env.LUDUS_PYTHON)(
    "TRL trains on ours through OpenEnv's client",
    { timeout: 600_000 },
    async () => {
      const env = defineEnv({
        name: "letters",
        tasks: listed({ train: ["x", "y"], test: ["z"] }),
        start: () => ({ state: {}, say: "Say a letter." }),
        act: ({ answer }) => ({ say: "", reward: answer === "a" ? 1 : 0, done: true }),
      });
      const served = await serveEnv(env, { port: 0, protocol: "openenv" });
      try {
        const { stdout: packages } = await promisify(execFile)(python!, [
          "-c",
          "import site; print(site.getsitepackages()[0])",
        ]);
        const args = [fixture("trl_train.py"), served.url!, packages.trim()];
        const quiet = { ...process.env, HF_HUB_OFFLINE: "1", TRL_EXPERIMENTAL_SILENCE: "1", CUDA_VISIBLE_DEVICES: "" };
        const { stdout } = await promisify(execFile)(process.env.LUDUS_PYTHON!, args, { env: quiet });
        const { played, rewards, done, rewarded, changed } = JSON.parse(stdout.trim().split("\n").at(-1)!);
        expect(played).toBeGreaterThan(4);
        expect([rewards, done, changed]).toEqual([[0, 1], true, true]);
        expect(rewarded.some((reward: number) => reward > 0)).toBe(true);
      } finally {
        await served.close();
      }
    },
  );
});
