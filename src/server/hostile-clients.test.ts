import { once } from "node:events";
import { request } from "node:http";
import { connect } from "node:net";
import { Hono } from "hono";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bounds } from "../bounds.ts";
import { keyDoor } from "../env/environments/key-door.ts";
import { serveEnv } from "../env/serve-env.ts";
import { memoryRuns } from "../store/index.ts";
import { AgentGateway } from "./agent-gateway.ts";
import { serveDashboard } from "./dashboard-server.ts";
import { listen } from "./listen.ts";
import { modelApp } from "./model/model-app.ts";
import { RecordedRollouts } from "./model/recorded-rollouts.ts";
import { serveModel } from "./openai-server.ts";
import { scriptedModel } from "./testing/scripted-model.ts";

const model = scriptedModel(() => "yes");
const closers: (() => Promise<void> | void)[] = [];
const targets: Record<string, { url: string; headers: Record<string, string> }> = {};
const names = ["serve", "serve-anthropic", "serve-gemini", "gateway", "dashboard", "env"] as const;

beforeAll(async () => {
  const served = await serveModel({ model, apiKey: "open sesame" });
  const key = { authorization: "Bearer open sesame" };
  const dashboard = await serveDashboard({ runs: memoryRuns() });
  const handler = { model, rollouts: new RecordedRollouts(model), now: () => 0, load: { count: 0, most: 9 } };
  const address = await new AgentGateway({}).open(modelApp({ ...handler, rollout: "a" }, undefined));
  const env = await serveEnv(keyDoor(), { port: 0 });
  closers.push(served.close, dashboard.close, () => env.close(), address.close);
  targets.serve = { url: `${served.url}/chat/completions`, headers: key };
  targets["serve-anthropic"] = { url: `${served.url}/messages`, headers: key };
  targets["serve-gemini"] = { url: `${served.url}/models/tiny:generateContent`, headers: key };
  targets.gateway = { url: `${address.base}/v1/chat/completions`, headers: {} };
  const cookie = { authorization: `Bearer ${dashboard.token}` };
  targets.dashboard = { url: `http://127.0.0.1:${dashboard.port}/api/play`, headers: cookie };
  targets.env = { url: env.url!, headers: { accept: "application/json, text/event-stream" } };
});
afterAll(async () => {
  for (const close of closers) await close();
});

type Answer = { status: number; body: string };

/** By hand: `fetch` sets headers of its own, and forbids others. */
async function send(name: string, body: string | Buffer[], headers: Record<string, string> = {}): Promise<Answer> {
  const target = targets[name];
  const given = { "content-type": "application/json", ...target.headers, ...headers };
  const asked = request(target.url, { method: "POST", agent: false, headers: given });
  // the server may hang up while the rest is sent
  asked.on("error", () => {});
  const answered = once(asked, "response");
  if (typeof body === "string") asked.end(body);
  else {
    for (const part of body) if (!asked.destroyed) asked.write(part);
    asked.end();
  }
  const [response] = await answered;
  let text = "";
  for await (const part of response.setEncoding("utf8")) text += part;
  return { status: response.statusCode, body: text };
}

describe.each(names)("%s", (name) => {
  test("refuses a body that says it is too large, before it comes", async () => {
    const asked = request(targets[name].url, {
      agent: false,
      method: "POST",
      headers: {
        "content-type": "application/json",
        ...targets[name].headers,
        "content-length": String(300 * 2 ** 20),
      },
    });
    asked.on("error", () => {});
    asked.flushHeaders();
    const [response] = await once(asked, "response");
    expect(response.statusCode).toBe(413);
    let text = "";
    for await (const part of response.setEncoding("utf8")) text += part;
    expect(JSON.parse(text)).toHaveProperty("error");
    asked.destroy();
  });

  test("refuses a body that does not say how large it is once it is", async () => {
    const parts = Array.from({ length: 12 }, () => Buffer.alloc(2 ** 20, 0x20));
    const { status, body } = await send(name, parts, { "transfer-encoding": "chunked" });
    expect(status).toBe(413);
    expect(JSON.parse(body)).toHaveProperty("error");
  });

  test("refuses what is nested too deep", async () => {
    const { status, body } = await send(name, `${"[".repeat(100_000)}${"]".repeat(100_000)}`);
    expect(status).toBe(400);
    expect(body).toMatch(/nested deeper/);
  });

  test.each([
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
    { origin: "https://elsewhere.example" },
    { origin: "null" },
  ])("refuses pages of other sites: %o", async (headers) => {
    expect((await send(name, "{}", headers)).status).toBe(403);
  });

  test("refuses names that are not loopback's", async () => {
    const { status } = await send(name, "{}", { host: "elsewhere.example" });
    expect([421, 403]).toContain(status);
  });

  test("answers programs, and its own pages", async () => {
    const own = { origin: new URL(targets[name].url).origin };
    for (const headers of [{}, own, { ...own, "sec-fetch-site": "same-origin" }]) {
      expect([400, 404, 406]).toContain((await send(name, "{}", headers as Record<string, string>)).status);
    }
  });
});

test("a key is asked for before a body is read", async () => {
  const parts = Array.from({ length: 12 }, () => Buffer.alloc(2 ** 20, 0x20));
  const wrong = { "transfer-encoding": "chunked", authorization: "Bearer wrong" };
  expect((await send("serve", parts, wrong)).status).toBe(401);
  expect((await send("dashboard", parts, wrong)).status).toBe(401);
});

test("a client that does not come to the point is hung up on", async () => {
  const server = await listen(new Hono(), "127.0.0.1", 0, { headerMs: 50, requestMs: 100 });
  const socket = connect(server.port, "127.0.0.1");
  socket.write("POST / HTTP/1.1\r\nhost: 127.0.0.1\r\n");
  let answer = "";
  socket.on("data", (data) => {
    answer += String(data);
  });
  await once(socket, "close");
  expect(answer).toContain("408");
  await server.close();
  expect(bounds.headerMs).toBeLessThan(bounds.requestMs);
});
