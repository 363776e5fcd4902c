import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { type IncomingMessage, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import type { Limits } from "../rollout/limits.ts";

import { listed } from "../task/listed.ts";
import { callTool } from "../tool/call-tool.ts";
import { fakeContext } from "../tool/fake-context.ts";
import { type McpProtocol, mcpProtocols } from "../tool/mcp-server.ts";
import { type McpTools, mcpTools } from "../tool/mcp-tools.ts";
import { ToolError } from "../tool/tool.ts";
import { defineEnv } from "./define-env.ts";

import { keyDoor } from "./environments/key-door.ts";
import type { ServedEnv } from "./serve/served-env.ts";
import { serveEnv } from "./serve-env.ts";

const open: (McpTools | ServedEnv | Client)[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

async function serve(
  ...[env, options = { port: 0 }]: [Parameters<typeof serveEnv>[0], Parameters<typeof serveEnv>[1]?]
) {
  const served = await serveEnv(env, options);
  open.push(served);
  return served;
}

/** What an agent would see of it: its tools. Without a session it says which episode it means, the last one unless told. */
async function connect(server: Parameters<typeof mcpTools>[0], protocol: McpProtocol = "2025-11-25") {
  const connection = await mcpTools(server, { protocol });
  open.push(connection);
  const limits = { toolMs: 10_000, observationChars: 10_000 };
  let episode: string | undefined;
  const call = async (name: string, args = {}) => {
    const named = episode === undefined || name === "start_episode" ? args : { episode_id: episode, ...args };
    const result = await callTool(connection.tools, { name, arguments: named }, fakeContext(undefined), limits);
    if (result.kind === "stopped") throw new Error(result.failure);
    const [, told, id] = /^(.*)\n\[episode_id: (\S+)\]$/s.exec(result.record.observation) ?? [];
    episode = id ?? episode;
    return told ?? result.record.observation;
  };
  return { ...connection, call, episode: () => episode };
}

/** Collect words; `add` refuses an empty one, and `done` ends. */
function words(limits: Partial<Limits> = {}) {
  const closed: string[] = [];
  const env = defineEnv({
    name: "words",
    description: "Collect words",
    tasks: listed({ train: ["a", "b"], test: ["c"] }),
    system: "Collect.",
    start: ({ task }) => ({ state: { id: task, words: [] as string[] }, say: `Begin ${task}` }),
    tools: (tool) => ({
      add: tool({
        description: "Adds a word",
        input: z.object({ word: z.string() }),
        run: ({ word }, { state, reward }) => {
          if (word === "") throw new ToolError("no word");
          reward(0.25);
          state.words.push(word);
          return state.words.join(" ");
        },
      }),
      later: tool({
        description: "Adds a word by and by",
        input: z.object({ word: z.string(), ms: z.number() }),
        run: async ({ word, ms }, { state }) => {
          await setTimeout(ms);
          state.words.push(word);
          return state.words.join(" ");
        },
      }),
      done: tool({ description: "Ends", input: z.object({}), run: (_, { finish }) => finish("tool") }),
      wait: tool({ description: "Waits", input: z.object({}), run: () => new Promise(() => {}) }),
      crash: tool({
        description: "Fails",
        input: z.object({}),
        run: () => {
          throw new Error("pipe broke");
        },
      }),
    }),
    score: ({ state, answer }) => ({ outcome: state.words.length > 1 ? 1 : 0, answer: answer.length / 100 }),
    close: (state) => void closed.push(state.id),
    limits: { turns: 6, ...limits },
  });
  return { env, closed };
}

/** `fetch` does not let one lie about the host. */
async function statusFor(url: string, host: string): Promise<number | undefined> {
  const asked = request(url, { method: "POST", headers: { host, "content-type": "application/json" } });
  asked.end("{}");
  const [response] = (await once(asked, "response")) as [IncomingMessage];
  response.resume();
  return response.statusCode;
}

describe.each(mcpProtocols)("over HTTP, version %s", (protocol) => {
  test("an environment without tools is spoken to, up to its score", async () => {
    const { url } = await serve(keyDoor({ style: "compact", length: 4 }));
    const { tools, call } = await connect({ url: url! }, protocol);
    expect(Object.keys(tools)).toEqual(["start_episode", "say", "finish"]);
    expect(await call("start_episode", { split: "train", index: 0 })).toBe("KDG");
    expect(await call("say", { text: "T" })).toBe("ADG+");
    expect(await call("say", { text: "O" })).toBe("AdG+");
    expect(await call("say", { text: "R" })).toBe(".AG+");
    expect(await call("say", { text: "R" })).toBe(".dA+\n[The episode is over: completed. Call finish for the score.]");
    expect(await call("finish")).toBe("completed after 4 turns\nscore 1 (outcome 1), success");
    expect(await call("finish")).toContain("score 1");
    expect(await call("say", { text: "R" })).toBe(
      "Error: the episode is over (completed): call finish or start_episode.",
    );
  });

  test("an environment's own tools are called directly, and what a call did wrong is an error", async () => {
    const { env, closed } = words();
    const { url } = await serve(env);
    const { tools, call } = await connect({ url: url! }, protocol);
    const isStateless = protocol === "2026-07-28";
    const { properties, required, ...others } = env.tools!.add.spec.parameters as {
      properties: object;
      required: string[];
    };
    const handle = { episode_id: { type: "string", description: "What start_episode told" } };
    expect(tools.add.spec).toEqual({
      description: "Adds a word",
      parameters: {
        ...others,
        properties: { ...(isStateless && handle), ...properties },
        required: [...(isStateless ? ["episode_id"] : []), ...required],
      },
    });
    expect(await call("add", { word: "early" })).toBe(
      isStateless
        ? "Error: episode_id: expected what start_episode told."
        : "Error: no episode is open: call start_episode first.",
    );
    expect(await call("start_episode")).toBe("Collect.\nBegin a");
    expect(await call("add", { word: "</tool_call>" })).toBe("</tool_call>");
    expect(await call("add", { word: "" })).toBe("Error: no word");
    expect(await call("add", {})).toMatch(/^Error: wrong arguments for "add": word: /);
    expect(await call("add", { word: "y" })).toBe("</tool_call> y");
    expect(closed).toEqual([]);
    expect(await call("say", { text: "that is all" })).toMatch(/^\[The episode is over: completed/);
    expect(closed).toEqual(["a"]);
    expect(await call("finish")).toBe(
      "completed after 5 turns\nscore 1.61 (outcome 1, answer 0.11, turns 0.5), success",
    );
    expect(await call("start_episode")).toContain("Begin b");
    expect(await call("done")).toBe("ok\n[The episode is over: completed. Call finish for the score.]");
    expect(await call("start_episode", { split: "test" })).toContain("Begin c");
    expect(await call("finish")).toMatch(/^completed after 0 turns\nscore 0 /);
    expect(closed).toEqual(["a", "b", "c"]);
  });

  test("facts are there for programs too", async () => {
    const { url } = await serve(words().env);
    const mode = protocol === "2025-11-25" ? "legacy" : { pin: protocol };
    const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
    open.push(client);
    await client.connect(new StreamableHTTPClientTransport(new URL(url!)));
    expect(client.getNegotiatedProtocolVersion()).toBe(protocol);
    expect(client.getServerVersion()).toMatchObject({ name: "ludus/words" });
    let handle = {};
    const call = (name: string, args = {}) => client.callTool({ name, arguments: { ...handle, ...args } });
    const started = await call("start_episode");
    expect(started).toMatchObject({ structuredContent: { task: "listed/train/0", index: 0, role: "agent" } });
    const { episode_id } = started.structuredContent as { episode_id?: string };
    handle = episode_id === undefined ? {} : { episode_id };
    expect(Object.keys(handle)).toHaveLength(protocol === "2026-07-28" ? 1 : 0);
    expect(await call("add", { word: "x" })).toMatchObject({ isError: false, structuredContent: { reward: 0.25 } });
    expect(await call("add", { word: "" })).toMatchObject({ isError: true });
    expect(await call("finish")).toMatchObject({
      structuredContent: { stop: "completed", turns: 2, scores: { agent: { success: false, parts: { outcome: 0 } } } },
    });
    expect(await call("ad")).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining("Tools: start_episode") }],
    });
    expect(await call("say", { words: 1 })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining("text") }],
    });
    expect(await call("start_episode", { split: "tset" })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining("train, test") }],
    });
  });

  test("many clients at once each have an episode of their own", async () => {
    const { env, closed } = words();
    const { url } = await serve(env);
    const clients = await Promise.all(Array.from({ length: 8 }, () => connect({ url: url! }, protocol)));
    await Promise.all(clients.map(({ call }, i) => call("start_episode", { index: i })));
    await Promise.all(clients.map(({ call }, i) => call("add", { word: `w${i}` })));
    const seen = await Promise.all(clients.map(({ call }, i) => call("add", { word: `v${i}` })));
    expect(seen).toEqual(clients.map((_, i) => `w${i} v${i}`));
    expect(closed).toEqual([]);
    await clients[0].close();
    // without a session, nobody knows that it has left
    if (protocol === "2025-11-25") await vi.waitFor(() => expect(closed).toEqual(["a"]));
  });

  test("calls at the same time are taken in order", async () => {
    const { url } = await serve(words().env);
    const { call } = await connect({ url: url! }, protocol);
    await call("start_episode");
    const calls = [
      ["x", 20],
      ["y", 5],
      ["z", 0],
    ].map(([word, ms]) => call("later", { word, ms }));
    expect(await Promise.all(calls)).toEqual(["x", "x y", "x y z"]);
  });

  test("an episode that takes too long is ended and closed, even in the middle of a call", async () => {
    const { env, closed } = words({ episodeMs: 400 });
    const { url } = await serve(env);
    const { call } = await connect({ url: url! }, protocol);
    await call("start_episode");
    expect(await call("wait")).toMatch(/The episode is over: episode-timeout: the episode took longer/);
    expect(closed).toEqual(["a"]);
    expect(await call("finish")).toMatch(/^episode-timeout after 1 turns: /);
    await call("start_episode");
    await vi.waitFor(() => expect(closed).toEqual(["a", "b"]));
    expect(await call("add", { word: "late" })).toContain("the episode is over (episode-timeout)");
  });

  test("a fault of the environment ends the episode, and the next one begins", async () => {
    const { url } = await serve(words().env);
    const { call } = await connect({ url: url! }, protocol);
    await call("start_episode");
    expect(await call("crash")).toMatch(/The episode is over: tool-crash: tool "crash": Error: pipe broke/);
    expect(await call("start_episode")).toContain("Begin b");
  });

  test("a silent client is forgotten, and its episode closed", async () => {
    const { env, closed } = words();
    const { url } = await serve(env, { port: 0, idleMs: 50 });
    const { call } = await connect({ url: url! }, protocol);
    await call("start_episode");
    await vi.waitFor(() => expect(closed).toEqual(["a"]));
    // in a session of its own, which mcpTools begins where its own was forgotten
    expect(await call("finish")).toMatch(protocol === "2025-11-25" ? /no episode is open/ : /there is no episode "/);
  });

  test("closing ends the sessions and frees the port", async () => {
    const { env, closed } = words();
    const served = await serve(env);
    const { call } = await connect({ url: served.url! }, protocol);
    await call("start_episode");
    await served.close();
    expect(closed).toEqual(["a"]);
    await serve(env, { port: Number(new URL(served.url!).port) });
  });
});

describe("over HTTP", () => {
  test("without a session, one client plays many episodes, and any client any of them", async () => {
    const { env, closed } = words();
    const { url } = await serve(env, { port: 0, maxSessions: 2 });
    const [one, other] = [await connect({ url: url! }, "2026-07-28"), await connect({ url: url! }, "2026-07-28")];
    expect(await one.call("start_episode")).toContain("Begin a");
    const first = one.episode();
    // the next task, of all that are asked for
    expect(await other.call("start_episode")).toContain("Begin b");
    expect(await one.call("start_episode")).toMatch(/^Error: 2 episodes are open/);
    expect(await other.call("add", { episode_id: first, word: "x" })).toBe("x");
    expect(await one.call("add", { word: "y" })).toBe("x y");
    expect(closed).toEqual([]);
    expect(await one.call("finish")).toContain("score");
    expect(await one.call("finish")).toContain("score");
    expect(closed).toEqual(["a"]);
    // a finished one makes room
    expect(await one.call("start_episode", { split: "test", index: 0 })).toContain("Begin c");
    expect(await other.call("finish", { episode_id: first })).toMatch(/^Error: there is no episode "/);
    expect(await other.call("start_episode", { split: "tset" })).toMatch(/^Error: 2 episodes are open/);
    expect(await other.call("finish")).toContain("score");
    expect(await other.call("start_episode", { split: "tset" })).toMatch(/^Error: there is no split "tset"/);
    expect(await other.call("start_episode")).toContain("Begin");
  });

  test("without a session, a client that names its task does not move those of others on", async () => {
    const { url } = await serve(words().env);
    const [one, other] = [await connect({ url: url! }, "2026-07-28"), await connect({ url: url! }, "2026-07-28")];
    expect(await other.call("start_episode")).toContain("Begin a");
    await one.call("start_episode", { index: Number.MAX_SAFE_INTEGER });
    await one.call("start_episode", { index: 1 });
    expect(await other.call("start_episode")).toContain("Begin b");
  });

  test.each([
    [{ idleMs: 0 }, /bad-config: got idleMs 0, expected more than 0 and at most 2147483647/],
    // a timer takes more for 1 ms, and every episode would be forgotten at once
    [{ idleMs: Number.POSITIVE_INFINITY }, /bad-config: got idleMs Infinity/],
    [{ maxSessions: 0 }, /bad-config: got maxSessions 0, expected a whole number of at least 1/],
  ])("%o is refused", async (options, message) => {
    await expect(serveEnv(words().env, { port: 0, ...options })).rejects.toThrow(message);
  });

  test("clients of both versions at the same time, and the newest is chosen", async () => {
    const { url } = await serve(words().env);
    const newest = await mcpTools({ url: url! });
    open.push(newest);
    expect(newest.protocol).toBe("2026-07-28");
    const older = await connect({ url: url! });
    expect(older.protocol).toBe("2025-11-25");
    expect(await older.call("start_episode")).toContain("Begin a");
    expect(await older.call("add", { word: "x" })).toBe("x");
  });

  test("strangers: another path, an unknown session, no session, another host's name, one too many", async () => {
    const { url } = await serve(words().env, { port: 0, maxSessions: 1 });
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    const post = (more = {}, at = url!) =>
      fetch(at, {
        method: "POST",
        body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
        headers: { ...headers, ...more },
      });
    expect((await post({}, url!.replace("/mcp", "/"))).status).toBe(404);
    expect((await post({ "mcp-session-id": "x" })).status).toBe(404);
    expect((await post()).status).toBe(400);
    expect(await statusFor(url!, "evil.example")).toBe(403);
    await connect({ url: url! });
    expect((await post()).status).toBe(503);
  });

  test("a port that is none", async () => {
    await expect(serveEnv(words().env, { port: 99_999 })).rejects.toThrow(
      /^bad-port: got port 99999, expected .*65535/,
    );
  });

  test("a port that is taken", async () => {
    const { url } = await serve(words().env);
    const port = Number(new URL(url!).port);
    await expect(serveEnv(words().env, { port })).rejects.toThrow(/cannot-listen.*another program listens there/);
  });

  test("a tool with an argument that is called as ours", async () => {
    const { env } = words();
    const { spec } = env.tools!.add;
    const parameters = { type: "object", properties: { episode_id: { type: "string" } } };
    const taken = { ...env, tools: { add: { ...env.tools!.add, spec: { ...spec, parameters } } } };
    await expect(serveEnv(taken, { port: 0 })).rejects.toThrow(/tool-argument-taken: got the argument "episode_id" of/);
  });

  test("a tool that is called as one of ours", async () => {
    const { env } = words();
    const taken = { ...env, tools: { finish: env.tools!.done } };
    await expect(serveEnv(taken, { port: 0 })).rejects.toThrow(/tool-name-taken: got the tool "finish" of words/);
  });
});

describe("over standard streams", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "ludus-serve-"));
  });
  afterAll(() => rm(folder, { recursive: true }));

  test.each(mcpProtocols)("one client plays; when it leaves, all is closed and ends (%s)", async (protocol) => {
    const log = join(folder, protocol);
    const script = fileURLToPath(new URL("./fixtures/serve-stdio.ts", import.meta.url));
    const { call, close } = await connect({ command: process.execPath, args: [script, log] }, protocol);
    expect(await call("start_episode")).toBe("Say tea.");
    expect(await call("say", { text: "coffee" })).toBe("again");
    expect(await call("say", { text: "tea" })).toMatch(/^thanks\n\[The episode is over: completed/);
    expect(await call("finish")).toBe("completed after 2 turns\nscore 0.5 (outcome 1, turns -0.5), success");
    expect(await call("start_episode")).toBe("Say milk.");
    await close();
    expect(await readFile(log, "utf8")).toBe("closed tea\nclosed milk\nended\n");
  });
});
