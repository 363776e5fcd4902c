import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { afterAll, describe, expect, test } from "vitest";
import { bounds } from "../../bounds.ts";
import { runGroup } from "../../rollout/run-group.ts";
import { listed } from "../../task/listed.ts";
import { type AgentDefinition, agentEnv } from "../agent-env.ts";
import { checkAgent } from "../check-agent.ts";
import { openAiAgent } from "./fixtures/openai-agent.ts";
import { type HttpAgentOptions, httpAgent } from "./http-agent.ts";
import type { ModelAccess } from "./model-access.ts";
import { type AgentServer, agentServer, type Handle, sendJson } from "./testing/agent-server.ts";
import { finderEnv, playFinder } from "./testing/finder-env.ts";
import { findingModel } from "./testing/finding-model.ts";

/** What the agent was told when it was started. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}

const servers: AgentServer[] = [];
const serve = async (handle: Handle) => {
  const server = await agentServer(handle);
  servers.push(server);
  return `${server.url}/ask`;
};
afterAll(() => Promise.all(servers.map((server) => server.close())));

type Posted = ModelAccess & { task: string };
const agent: Handle = async (body, response) => {
  const { task, baseUrl, apiKey, model } = JSON.parse(body) as Posted;
  sendJson(response, { answer: await openAiAgent(task, { baseURL: baseUrl, apiKey, model }) });
};

const envOf = (options: HttpAgentOptions, more: Partial<AgentDefinition<string>> = {}) =>
  finderEnv(httpAgent(options), more);

test("an agent behind an endpoint is scored and recorded: its calls, tokens and log-probabilities", async () => {
  const url = await serve(agent);
  const { stop, trajectories, failure } = await playFinder(envOf({ url }));
  expect(failure).toBeUndefined();
  expect(stop).toBe("completed");
  expect(trajectories).toHaveLength(1);
  const [{ score, turns, mask_T, logprobs_T }] = trajectories;
  expect(score.total).toBe(1);
  expect(turns.map(({ text, observation }) => [text.replaceAll("\n", ""), observation])).toEqual([
    ['<tool_call>{"name": "find", "arguments": {"who": "user-7"}}</tool_call>', "found-7"],
    ["user-7 is found-7", ""],
  ]);
  expect(mask_T.reduce((sum, mask) => sum + mask, 0)).toBe(turns.reduce((n, { span }) => n + span.end - span.start, 0));
  expect(logprobs_T.every((logprob, t) => mask_T[t] === 1 || logprob === 0)).toBe(true);
});

test("attempts at once have addresses of their own; the server's key is handed over", async () => {
  const keys = new Set<string>();
  const url = await serve(async (body, response, request) => {
    keys.add((JSON.parse(body) as Posted).apiKey);
    await agent(body, response, request);
  });
  const env = envOf({ url }, { serve: { apiKey: "open sesame" } });
  const task = { id: "t", seed: 0, data: "Find user-5" };
  const { rollouts } = await runGroup(env, task, findingModel(), { id: "g", seed: 0, size: 8, temperature: 0 });
  expect(rollouts.map(({ trajectories }) => trajectories[0]?.score.total)).toEqual(Array(8).fill(1));
  expect([...keys]).toEqual(["open sesame"]);
});

test("keys that an agent repeats are in no failure", async () => {
  const url = await serve((body, response, { headers }) => {
    const { apiKey } = JSON.parse(body) as Posted;
    sendJson(response, { problem: `${headers["x-user"]} and ${apiKey} are unknown` }, 401);
  });
  const env = envOf({ url, headers: { "x-user": "hunter2hunter2" } }, { serve: { apiKey: "open sesame" } });
  const { failure } = await playFinder(env);
  expect(failure).toMatch(/agent-failed: got status 401/);
  expect(failure).toMatch(/\[x-user\] and \[apiKey\] are unknown/);
});

test("an endpoint with a shape of its own is told and read by functions; plain text is an answer too", async () => {
  const own = await serve(async (body, response, { headers }) => {
    const { input, config } = JSON.parse(body) as { input: string; config: ModelAccess };
    const answer = await openAiAgent(input, { baseURL: config.baseUrl, apiKey: config.apiKey, model: config.model });
    sendJson(response, { output: [{ text: answer }], by: headers["x-user"] });
  });
  const shaped = {
    url: own,
    headers: { "x-user": "ludus" },
    body: (input: unknown, config: ModelAccess) => ({ input, config }),
    answer: (reply: unknown) => {
      const { output, by } = reply as { output: { text: string }[]; by: string };
      return by === "ludus" ? output[0].text : "";
    },
  };
  expect((await playFinder(envOf(shaped))).trajectories[0].score.total).toBe(1);
  const plain = await serve(async (body, response) => {
    const { task, baseUrl, apiKey, model } = JSON.parse(body) as Posted;
    response.end(await openAiAgent(task, { baseURL: baseUrl, apiKey, model }));
  });
  expect((await playFinder(envOf({ url: plain }))).trajectories[0].score.total).toBe(1);
});

test("an agent with a fixed base URL is asked one attempt after the other", async () => {
  const port = await freePort();
  let [running, most] = [0, 0];
  const url = await serve(async (body, response) => {
    most = Math.max(most, ++running);
    const { task } = JSON.parse(body) as Posted;
    const access = { baseURL: `http://127.0.0.1:${port}/v1`, apiKey: "none", model: "finder" };
    const answer = await openAiAgent(task, access).finally(() => running--);
    sendJson(response, { answer });
  });
  const env = envOf({ url }, { serve: { port, fixed: true } });
  const group = { id: "g", seed: 0, size: 6, temperature: 0 };
  const { rollouts } = await runGroup(env, { id: "t", seed: 0, data: "Find user-5" }, findingModel(), group);
  expect(rollouts.map(({ trajectories }) => trajectories[0]?.turns.length)).toEqual(Array(6).fill(2));
  expect(most).toBe(1);
  const stopped = new AbortController();
  stopped.abort();
  expect(await playFinder(env, "Find user-1", { signal: stopped.signal })).toMatchObject({ stop: "cancelled" });
  expect(await playFinder(env)).toMatchObject({ stop: "completed" });
  expect(() => envOf({ url }, { serve: { fixed: true } })).toThrow(/bad-config.*without a port/);
  expect(() => envOf({ url }, { serve: { port, fixed: true }, concurrency: 2 })).toThrow(/one after the other/);
});

test("no more attempts than the environment allows are made at once, and waiting is not on the clock", async () => {
  let [running, most] = [0, 0];
  const url = await serve(async (body, response, request) => {
    most = Math.max(most, ++running);
    await new Promise((resolve) => setTimeout(resolve, 200));
    running--;
    await agent(body, response, request);
  });
  const env = envOf({ url }, { concurrency: 2, limits: { episodeMs: 2_000 } });
  const group = { id: "g", seed: 0, size: 24, temperature: 0, retries: 0 };
  const { rollouts } = await runGroup(env, { id: "t", seed: 0, data: "Find user-5" }, findingModel(), group);
  expect(rollouts.map(({ stop }) => stop)).toEqual(Array(24).fill("completed"));
  expect(most).toBe(2);
});

describe("how an attempt ends:", () => {
  test("an agent that asks too often is the policy's doing, also where it answers with an error", async () => {
    const url = await serve(agent);
    const { stop, trajectories } = await playFinder(envOf({ url }), "Find user-1 again and again");
    expect(stop).toBe("max-turns");
    expect(trajectories[0]).toMatchObject({ score: { total: 0 }, stop: "max-turns" });
    expect(trajectories[0].turns).toHaveLength(3);
  });

  test("an agent that is down, fails or answers nonsense is a failure of the infrastructure, and the text says which", async () => {
    const down = await playFinder(envOf({ url: "http://127.0.0.1:9/ask" }));
    expect(down).toMatchObject({ stop: "env-crash" });
    expect(down.failure).toMatch(
      /agent-unreachable: got connect ECONNREFUSED 127\.0\.0\.1:9 at http:.*Is it started\?/,
    );
    const failing = await serve((_, response) => sendJson(response, { detail: "no such model" }, 503));
    expect((await playFinder(envOf({ url: failing }))).failure).toMatch(
      /agent-failed: got status 503 from .*no such model/,
    );
    const moved = await serve(
      (_, response) => void response.writeHead(302, { location: "/login?ticket=hunter2" }).end(),
    );
    expect((await playFinder(envOf({ url: moved }))).failure).toMatch(/status 302 \(to \/login\)/);
    const odd = await serve((_, response) => sendJson(response, { reply: 3 }));
    expect((await playFinder(envOf({ url: odd }))).failure).toMatch(/bad-agent-answer: got "\{\\"reply\\":3\}"/);
    const broken = await serve((_, response) => {
      response.writeHead(200, { "content-type": "application/json" }).end("<html>");
    });
    expect((await playFinder(envOf({ url: broken }))).failure).toMatch(
      /bad-agent-answer: got "<html>" from .* expected JSON/,
    );
    const cut = await serve((_, response) => {
      response.writeHead(200, { "content-length": "100" }).write("half");
      setTimeout(() => response.destroy(), 20);
    });
    expect((await playFinder(envOf({ url: cut }))).failure).toMatch(/agent-failed: .*in the middle of what/);
  });

  test("an answer without end is not read to its end", async () => {
    let sent = 0;
    const url = await serve((_, response) => {
      response.writeHead(200, { "content-type": "text/plain" });
      const part = Buffer.alloc(2 ** 20, "x");
      const more = () => {
        while (!response.destroyed && sent < 100 * part.length) {
          sent += part.length;
          if (!response.write(part)) return void response.once("drain", more);
        }
      };
      more();
    });
    expect((await playFinder(envOf({ url }))).failure).toMatch(`more than ${bounds.agentAnswerBytes} bytes`);
    expect(sent).toBeLessThan(60 * 2 ** 20);
  });

  test("an agent that hangs is hung up on when the time is over", async () => {
    const gone = Promise.withResolvers<void>();
    const url = await serve((_, response) => void response.on("close", gone.resolve));
    const { stop, failure } = await playFinder(envOf({ url }, { limits: { episodeMs: 200 } }));
    expect(stop).toBe("episode-timeout");
    expect(failure).toMatch(/limits\.episodeMs/);
    await gone.promise;
  });
});

test("what is misspelt or missing is said before anybody is asked", async () => {
  expect(() => httpAgent({ url: "http://x", header: {} } as never)).toThrow(/unknown option "header"; did you mean/);
  expect(() => httpAgent({ url: "localhost:9000" })).toThrow(/bad-config.*localhost:9000.*http or https/);
  const ask = httpAgent({ url: "http://127.0.0.1:9/ask" });
  const env = agentEnv({
    name: "e",
    tasks: listed(["x"]),
    run: async (task, attempt) => (await ask(task, attempt)).length,
  });
  const { findings } = await checkAgent(env, { throw: false });
  expect(findings.map(({ code }) => code)).toContain("agent-not-served");
});

describe("a check before training finds that", () => {
  const found = async (handle: Handle | string) => {
    const env = envOf({ url: typeof handle === "string" ? handle : await serve(handle) });
    const { findings, episodes } = await checkAgent(env, { throw: false, tasks: 1, timeoutMs: 2_000 });
    return { episodes, codes: findings.map(({ code }) => code), first: findings[0]?.message ?? "" };
  };

  test("the agent is sound", async () => {
    expect(await found(agent)).toMatchObject({ codes: [] });
  });

  test("the agent is down", async () => {
    const { codes, first, episodes } = await found("http://127.0.0.1:9/ask");
    expect(codes).toEqual(["agent-unreachable"]);
    expect(first).toContain("http://127.0.0.1:9/ask");
    expect(episodes).toBe(1);
  });

  test("the agent answers nonsense", async () => {
    const { codes } = await found(async (body, response, request) => {
      await agent(body, { writeHead: () => ({ end: () => {} }) } as never, request);
      response.writeHead(200, { "content-type": "application/json" }).end("[");
    });
    expect(codes).toContain("agent-bad-answer");
  });

  test("the agent never asks the model", async () => {
    const { codes, first } = await found((_, response) => sendJson(response, { answer: "42" }));
    expect(codes).toEqual(["agent-asks-no-model"]);
    expect(first).toContain("without asking a model");
  });

  test("the agent asks a model of another name", async () => {
    const { codes, first } = await found(async (body, response) => {
      const { task, baseUrl, apiKey } = JSON.parse(body) as Posted;
      sendJson(response, { answer: await openAiAgent(task, { baseURL: baseUrl, apiKey, model: "gpt-4o" }) });
    });
    expect(codes).toContain("agent-unknown-model");
    expect(first).toContain('"gpt-4o", which is called "finder"');
  });
});
