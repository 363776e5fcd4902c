import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { type IncomingMessage, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import type { Limits } from "../rollout/limits.ts";

import { listed } from "../task/listed.ts";
import { callTool } from "../tool/call-tool.ts";
import { fakeContext } from "../tool/fake-context.ts";
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

/** What an agent would see of it: its tools. */
async function connect(server: Parameters<typeof mcpTools>[0]) {
  const connection = await mcpTools(server);
  open.push(connection);
  const limits = { toolMs: 10_000, observationChars: 10_000 };
  const call = async (name: string, args = {}) => {
    const result = await callTool(connection.tools, { name, arguments: args }, fakeContext(undefined), limits);
    if (result.kind === "stopped") throw new Error(result.failure);
    return result.record.observation;
  };
  return { ...connection, call };
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

describe("over HTTP", () => {
  test("an environment without tools is spoken to, up to its score", async () => {
    const { url } = await serve(keyDoor({ style: "compact", length: 4 }));
    const { tools, call } = await connect({ url: url! });
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
    const { tools, call } = await connect({ url: url! });
    expect(tools.add.spec).toEqual({ description: "Adds a word", parameters: env.tools!.add.spec.parameters });
    expect(await call("add", { word: "early" })).toBe("Error: no episode is open: call start_episode first.");
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
    const client = new Client({ name: "test", version: "1" });
    open.push(client);
    await client.connect(new StreamableHTTPClientTransport(new URL(url!)) as Transport);
    const call = (name: string, args = {}) => client.callTool({ name, arguments: args });
    expect(await call("start_episode")).toMatchObject({
      structuredContent: { task: "listed/train/0", index: 0, role: "agent" },
    });
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
    const clients = await Promise.all(Array.from({ length: 8 }, () => connect({ url: url! })));
    await Promise.all(clients.map(({ call }, i) => call("start_episode", { index: i })));
    await Promise.all(clients.map(({ call }, i) => call("add", { word: `w${i}` })));
    const seen = await Promise.all(clients.map(({ call }, i) => call("add", { word: `v${i}` })));
    expect(seen).toEqual(clients.map((_, i) => `w${i} v${i}`));
    expect(closed).toEqual([]);
    await clients[0].close();
    await vi.waitFor(() => expect(closed).toEqual(["a"]));
  });

  test("calls at the same time are taken in order", async () => {
    const { url } = await serve(words().env);
    const { call } = await connect({ url: url! });
    await call("start_episode");
    const calls = [
      ["x", 20],
      ["y", 5],
      ["z", 0],
    ].map(([word, ms]) => call("later", { word, ms }));
    expect(await Promise.all(calls)).toEqual(["x", "x y", "x y z"]);
  });

  test("an episode that takes too long is ended and closed, even in the middle of a call", async () => {
    const { env, closed } = words({ episodeMs: 60 });
    const { url } = await serve(env);
    const { call } = await connect({ url: url! });
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
    const { call } = await connect({ url: url! });
    await call("start_episode");
    expect(await call("crash")).toMatch(/The episode is over: tool-crash: tool "crash": Error: pipe broke/);
    expect(await call("start_episode")).toContain("Begin b");
  });

  test("a silent client is forgotten, and its episode closed", async () => {
    const { env, closed } = words();
    const { url } = await serve(env, { port: 0, idleMs: 50 });
    const { call } = await connect({ url: url! });
    await call("start_episode");
    await vi.waitFor(() => expect(closed).toEqual(["a"]));
    // in a session of its own, which mcpTools begins where its own was forgotten
    expect(await call("finish")).toMatch(/no episode is open/);
  });

  test("closing ends the sessions and frees the port", async () => {
    const { env, closed } = words();
    const served = await serve(env);
    const { call } = await connect({ url: served.url! });
    await call("start_episode");
    await served.close();
    expect(closed).toEqual(["a"]);
    await serve(env, { port: Number(new URL(served.url!).port) });
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

  test("one client plays; when it leaves, the episode is closed and the program ends", async () => {
    const log = join(folder, "log");
    const script = fileURLToPath(new URL("./fixtures/serve-stdio.ts", import.meta.url));
    const { call, close } = await connect({ command: process.execPath, args: [script, log] });
    expect(await call("start_episode")).toBe("Say tea.");
    expect(await call("say", { text: "coffee" })).toBe("again");
    expect(await call("say", { text: "tea" })).toMatch(/^thanks\n\[The episode is over: completed/);
    expect(await call("finish")).toBe("completed after 2 turns\nscore 0.5 (outcome 1, turns -0.5), success");
    expect(await call("start_episode")).toBe("Say milk.");
    await close();
    expect(await readFile(log, "utf8")).toBe("closed tea\nclosed milk\nended\n");
  });
});
