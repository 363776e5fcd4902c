import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRng, type Rng } from "../../../src/random.ts";
import { type Dashboard, serveDashboard } from "../../../src/server/dashboard-server.ts";
import { type ModelServer, serveModel } from "../../../src/server/openai-server.ts";
import { fakeStep } from "../../../src/server/testing/fake-run.ts";
import { scriptedModel } from "../../../src/server/testing/scripted-model.ts";
import { memoryRuns } from "../../../src/store/index.ts";
import { cut, hostileText, mutatedJson, pick, piece } from "../hostile-text.ts";
import { check } from "../refusal.ts";
import type { FuzzTarget } from "../target.ts";

interface Input {
  readonly server: "model" | "dashboard";
  readonly method: string;
  readonly path: string;
  readonly body: string;
  /** Sent as it is, instead of a request of HTTP. */
  readonly raw?: string;
}

const chat = {
  model: "tiny",
  messages: [
    { role: "system", content: "Be brief." },
    { role: "user", content: "hello" },
    {
      role: "assistant",
      content: null,
      tool_calls: [{ id: "1", type: "function", function: { name: "search", arguments: "{}" } }],
    },
    { role: "tool", tool_call_id: "1", content: "green" },
  ],
  tools: [{ type: "function", function: { name: "search", parameters: { type: "object", properties: {} } } }],
  temperature: 1,
  max_tokens: 8,
  stop: ["x"],
  n: 1,
  stream: false,
};
const anthropic = {
  model: "tiny",
  max_tokens: 8,
  system: "Be brief.",
  messages: [{ role: "user", content: [{ type: "text", text: "hello" }] }],
  tools: [{ name: "search", input_schema: { type: "object", properties: {} } }],
};
const responses = {
  model: "tiny",
  instructions: "Be brief.",
  input: [
    { role: "user", content: [{ type: "input_text", text: "hello" }] },
    { type: "function_call", call_id: "1", name: "search", arguments: "{}" },
    { type: "function_call_output", call_id: "1", output: "green" },
  ],
  tools: [{ type: "function", name: "search", parameters: { type: "object", properties: {} } }],
  text: {
    format: { type: "json_schema", name: "tea", schema: { type: "object", properties: { a: { type: "string" } } } },
  },
  max_output_tokens: 8,
  stream: false,
};
const reward = { reward: { outcome: 1 }, success: true, task: "t", stop: "completed" };

const modelPaths = [
  "/v1/models",
  "/v1/chat/completions",
  "/v1/messages",
  "/v1/responses",
  "/v1/completions",
  "/rollouts/a/v1/chat/completions",
  "/rollouts/a/reward",
  "/rollouts/a",
  "/rollouts",
];
const dashboardPaths = [
  "/api/runs",
  "/api/runs/first",
  "/api/runs/first/series",
  "/api/runs/first/trajectories",
  "/api/runs/first/trajectories/1",
  "/api/runs/first/events",
  "/api/runs/first/groups/1",
  "/api/play",
  "/",
  "/assets/../../etc/passwd",
];

interface Servers {
  readonly model: ModelServer;
  readonly dashboard: Dashboard;
}
let started: Promise<Servers> | undefined;
let assets: string | undefined;

async function start(): Promise<Servers> {
  const model = await serveModel({ model: scriptedModel(() => "Green."), record: {}, apiKey: "fuzz" });
  const runs = memoryRuns();
  const store = await runs.openForWriting("first", { now: () => 0 });
  const options = { groupsPerStep: 2, groupSize: 2 };
  for (let step = 0; step < 3; step++) await store.append(step, fakeStep(step, createRng(step), options as never));
  await store.close();
  assets = await mkdtemp(join(tmpdir(), "ludus-fuzz-page-"));
  await writeFile(join(assets, "index.html"), "<!doctype html><title>page</title>");
  return { model, dashboard: await serveDashboard({ runs, token: "fuzz", assets }) };
}

/** Requests of any kind: answered with a status below 500, and the server answers the next one. */
export const serversTarget: FuzzTarget<Input> = {
  name: "servers",
  generate(rng) {
    const server = pick(rng, ["model", "model", "dashboard"] as const);
    const path = generatePath(rng, server === "model" ? modelPaths : dashboardPaths);
    const method =
      rng.next() < 0.7
        ? server === "model"
          ? "POST"
          : "GET"
        : pick(rng, ["GET", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "HEAD"]);
    const sample = pick(rng, [chat, responses, anthropic, reward]);
    const json = JSON.stringify(mutatedJson(rng, sample, 0.08));
    const body = rng.next() < 0.15 ? hostileText(rng, 5_000) : rng.next() < 0.1 ? cut(rng, json) : json;
    if (rng.next() > 0.1) return { server, method, path, body };
    return {
      server,
      method,
      path,
      body,
      raw: cut(
        rng,
        `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: ${pick(rng, ["0", "5", "-1", "99999999999", piece(rng)])}\r\n\r\n${body.slice(0, 50)}`,
      ),
    };
  },
  async run({ server: name, method, path, body, raw }) {
    started ??= start();
    const { model, dashboard } = await started;
    const port = name === "model" ? model.port : dashboard.port;
    if (raw === undefined) {
      const status = await ask(port, method, path, body);
      check(status < 500, `status ${status} of ${method} ${path}`);
    } else await sendRaw(port, raw);
    const healthy = await ask(port, "GET", name === "model" ? "/v1/models" : "/api/runs", "");
    check(healthy === 200, `the server answers the next request: ${healthy}`);
  },
  async close() {
    const servers = await started;
    await servers?.model.close();
    await servers?.dashboard.close();
    if (assets !== undefined) await rm(assets, { recursive: true });
  },
};

function generatePath(rng: Rng, paths: readonly string[]): string {
  const path = pick(rng, paths);
  const query =
    rng.next() < 0.4
      ? `?${pick(rng, ["limit", "after", "text", "from", "names", "where", "maxPoints"])}=${encodeURIComponent(piece(rng).toWellFormed())}`
      : "";
  if (rng.next() < 0.6) return path + query;
  const strange = encodeURIComponent(hostileText(rng, 60).toWellFormed());
  return path.replace(/\/[^/]*$/, () => `/${strange}`) + query;
}

function ask(port: number, method: string, path: string, body: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = {
      "content-type": "application/json",
      authorization: "Bearer fuzz",
    };
    const sent = request(
      { port, host: "127.0.0.1", method, path, headers, agent: false, timeout: 8_000 },
      (response) => {
        // an events stream never ends: what it begins with is enough
        response.once("data", () => response.destroy());
        response.once("close", () => resolve(response.statusCode ?? 0));
      },
    );
    sent.once("timeout", () => sent.destroy(new Error(`no answer to ${method} ${path} within 8 s`)));
    sent.once("error", reject);
    sent.end(method === "GET" || method === "HEAD" ? undefined : body);
  });
}

async function sendRaw(port: number, text: string): Promise<void> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  await once(socket, "connect");
  socket.end(text);
  const waited = setTimeout(() => socket.destroy(), 200);
  await once(socket.resume(), "close");
  clearTimeout(waited);
}
