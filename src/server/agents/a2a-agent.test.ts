import { randomUUID } from "node:crypto";
import { AgentCard, type Part, Role, TaskState } from "@a2a-js/sdk";
import { LegacyJsonRpcTransportHandler } from "@a2a-js/sdk/compat/v0_3/server";
import {
  AgentEvent,
  type AgentExecutor,
  DefaultRequestHandler,
  InMemoryTaskStore,
  JsonRpcTransportHandler,
  ServerCallContext,
} from "@a2a-js/sdk/server";
import { afterAll, describe, expect, test } from "vitest";
import type { AgentDefinition } from "../agent-env.ts";
import { checkAgent } from "../check-agent.ts";
import { type A2aAgentOptions, a2aAgent } from "./a2a-agent.ts";
import { openAiAgent } from "./fixtures/openai-agent.ts";
import type { ModelAccess } from "./model-access.ts";
import { type AgentServer, agentServer, type Handle, sendJson } from "./testing/agent-server.ts";
import { finderEnv, playFinder } from "./testing/finder-env.ts";

const servers: AgentServer[] = [];
const serve = async (handle: Handle) => {
  const server = await agentServer(handle);
  servers.push(server);
  return server.url;
};
afterAll(() => Promise.all(servers.map((server) => server.close())));

const textPart = (value: string): Part => ({
  content: { $case: "text", value },
  metadata: undefined,
  filename: "",
  mediaType: "",
});

/** An agent on the official SDK that answers with a message, or with a task and its artifact. */
function executor(answers: "message" | "task" | "failed-task"): AgentExecutor {
  return {
    async execute({ userMessage, taskId, contextId }, bus) {
      const { content } = userMessage.parts[0];
      const { ludus } = userMessage.metadata as { ludus: ModelAccess };
      const { baseUrl, apiKey, model } = ludus;
      const question = content?.$case === "text" ? content.value : "";
      const text = await openAiAgent(question, { baseURL: baseUrl, apiKey, model });
      const common = { metadata: undefined, extensions: [] };
      const message = { messageId: randomUUID(), contextId, role: Role.ROLE_AGENT, parts: [textPart(text)], ...common };
      if (answers === "message") {
        bus.publish(AgentEvent.message({ ...message, taskId: "", referenceTaskIds: [] }));
      } else {
        const artifact = { artifactId: "a", name: "answer", description: "", parts: [textPart(text)], ...common };
        const isFailed = answers === "failed-task";
        const state = isFailed ? TaskState.TASK_STATE_FAILED : TaskState.TASK_STATE_COMPLETED;
        const said = isFailed ? { ...message, taskId, referenceTaskIds: [], parts: [textPart("no disk")] } : undefined;
        const status = { state, message: said, timestamp: undefined };
        const artifacts = isFailed ? [] : [artifact];
        bus.publish(AgentEvent.task({ id: taskId, contextId, status, artifacts, history: [], metadata: undefined }));
      }
      bus.finished();
    },
    cancelTask: async () => {},
  };
}

/** The official SDK's server, of one version of the protocol. */
async function officialAgent(version: "1.0" | "0.3", answers: Parameters<typeof executor>[0]): Promise<string> {
  let card: AgentCard;
  let handler: { handle(body: string, context: ServerCallContext): Promise<unknown> };
  const url = await serve(async (body, response, { url: path, headers }) => {
    if (path === "/.well-known/agent-card.json") {
      const old = {
        name: "finder",
        url: card.supportedInterfaces[0].url,
        protocolVersion: "0.3.0",
        preferredTransport: "JSONRPC",
      };
      return sendJson(response, version === "0.3" ? old : AgentCard.toJSON(card));
    }
    const context = new ServerCallContext({ requestedVersion: String(headers["a2a-version"]) });
    sendJson(response, await handler.handle(body, context));
  });
  const binding = { url: `${url}/a2a`, protocolBinding: "JSONRPC", protocolVersion: version };
  card = AgentCard.fromJSON({
    name: "finder",
    description: "Finds users",
    version: "1",
    supportedInterfaces: [binding],
    capabilities: {},
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
  });
  const requests = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor(answers));
  const Transport = version === "1.0" ? JsonRpcTransportHandler : LegacyJsonRpcTransportHandler;
  handler = new Transport(requests) as typeof handler;
  return url;
}

const envOf = (options: A2aAgentOptions, more: Partial<AgentDefinition<string>> = {}) =>
  finderEnv(a2aAgent(options), more);

describe.each(["1.0", "0.3"] as const)("an agent on the official SDK, version %s", (version) => {
  test.each(["message", "task"] as const)("that answers with a %s is scored and recorded", async (answers) => {
    const { stop, trajectories, failure } = await playFinder(envOf({ url: await officialAgent(version, answers) }));
    expect(failure).toBeUndefined();
    expect(stop).toBe("completed");
    expect(trajectories).toHaveLength(1);
    expect(trajectories[0].score.total).toBe(1);
    expect(trajectories[0].turns.map(({ observation }) => observation)).toEqual(["found-7", ""]);
  });

  test("that fails is a failure of the infrastructure, with its words", async () => {
    const { stop, failure } = await playFinder(envOf({ url: await officialAgent(version, "failed-task") }));
    expect(stop).toBe("env-crash");
    expect(failure).toMatch(/agent-failed: got a task that is failed: "no disk"/);
  });

  test("beyond the limits of the environment it is the policy's doing", async () => {
    const env = envOf({ url: await officialAgent(version, "message") });
    expect(await playFinder(env, "Find user-7 again and again")).toMatchObject({ stop: "max-turns" });
  });
});

/** By hand: what an SDK would not do. */
const byHand = (answer: (method: string, params: { id?: string }) => unknown, card?: (url: string) => object) =>
  serve((body, response, { url: path, headers }) => {
    const own = `http://${headers.host}/a2a`;
    if (path?.endsWith("agent-card.json")) {
      return sendJson(response, card?.(own) ?? { url: own, protocolVersion: "0.3.0", preferredTransport: "JSONRPC" });
    }
    const { id, method, params } = JSON.parse(body) as { id: string; method: string; params: { id?: string } };
    sendJson(response, { jsonrpc: "2.0", id, ...(answer(method, params) as object) });
  });
const taskIn = (state: string, more: object = {}) => ({
  result: { kind: "task", id: "t1", status: { state, ...more } },
});

test("a task that takes longer is asked for until it is done", async () => {
  const asked: string[] = [];
  const message = { parts: [{ kind: "text", text: "at last" }] };
  const url = await byHand((method) => {
    asked.push(method);
    return asked.length < 4 ? taskIn("working") : taskIn("completed", { message });
  });
  const ask = a2aAgent({ url, pollMs: 5 });
  const answers: string[] = [];
  const env = envOf({ url }, { run: async (task, attempt) => answers.push(await ask(task, attempt)) });
  expect((await playFinder(env)).failure).toMatch(/asked no model/);
  expect(answers).toEqual(["at last"]);
  expect(asked).toEqual(["message/send", "tasks/get", "tasks/get", "tasks/get"]);
});

test("a card that one attempt did not get in time is asked for again by the next", async () => {
  let asked = 0;
  const url = await serve((_, response, { url: path, headers }) => {
    if (!path?.endsWith("agent-card.json"))
      return sendJson(response, { result: { kind: "message", parts: [{ text: "x" }] } });
    if (asked++ > 0) sendJson(response, { url: `http://${headers.host}/a2a` });
  });
  const env = envOf({ url }, { limits: { episodeMs: 500 } });
  expect(await playFinder(env)).toMatchObject({ stop: "episode-timeout" });
  expect((await playFinder(env)).failure).toMatch(/asked no model/);
  await playFinder(env);
  expect(asked).toBe(2);
});

test("a task that is not done when the time is over is cancelled", async () => {
  const cancelled = Promise.withResolvers<string | undefined>();
  const url = await byHand((method, { id }) => {
    if (method === "tasks/cancel") cancelled.resolve(id);
    return taskIn("working");
  });
  const env = envOf({ url, pollMs: 20 }, { limits: { episodeMs: 300 } });
  expect(await playFinder(env)).toMatchObject({ stop: "episode-timeout" });
  expect(await cancelled.promise).toBe("t1");
});

test("what is no agent of A2A, or not the one it says, is told", async () => {
  const failure = async (url: string) => (await playFinder(envOf({ url }))).failure;
  expect(await failure("http://127.0.0.1:9")).toMatch(/agent-unreachable/);
  expect(await failure(await serve((_, response) => sendJson(response, {}, 404)))).toMatch(
    /agent-failed: got status 404/,
  );
  expect(
    await failure(
      await byHand(
        () => ({}),
        () => ({ name: "x" }),
      ),
    ),
  ).toMatch(/card without JSON-RPC/);
  const elsewhere = (url: string) => ({ url: url.replace("127.0.0.1", "127.0.0.2") });
  expect(await failure(await byHand(() => ({}), elsewhere))).toMatch(
    /that sends to http:\/\/127\.0\.0\.2.*give its address/,
  );
  const refusing = await byHand(() => ({ error: { code: -32601, message: "Method not found" } }));
  expect(await failure(refusing)).toMatch(/agent-failed: got error -32601 to message\/send: Method not found/);
  expect(await failure(await byHand(() => ({ result: 3 })))).toMatch(/bad-agent-answer: got "3".* a message or a task/);
  const silent = await byHand(() => ({ result: { kind: "message", parts: [{ kind: "data", data: {} }] } }));
  expect(await failure(silent)).toMatch(/bad-agent-answer: got 1 parts without text/);
  const strange = await byHand(() => taskIn("auth-required"));
  expect(await failure(strange)).toMatch(/a task that is auth-required/);
});

test("keys that an agent repeats are in no failure", async () => {
  const url = await byHand(() => ({ error: { code: -32000, message: "hunter2hunter2 or open sesame is unknown" } }));
  const env = envOf({ url, headers: { "x-user": "hunter2hunter2" } }, { serve: { apiKey: "open sesame" } });
  expect((await playFinder(env)).failure).toMatch(/agent-failed: .*\[x-user\] or \[apiKey\] is unknown/);
});

test("a check says what is wrong before training; what is misspelt is refused", async () => {
  const codes = async (url: string) =>
    (await checkAgent(envOf({ url }), { throw: false, tasks: 1 })).findings.map(({ code }) => code);
  expect(await codes(await officialAgent("1.0", "task"))).toEqual([]);
  expect(await codes("http://127.0.0.1:9")).toEqual(["agent-unreachable"]);
  expect(await codes(await byHand(() => ({ result: 3 })))).toEqual(["agent-bad-answer"]);
  expect(() => a2aAgent({ url: "http://x", poll: 1 } as never)).toThrow(/unknown option "poll"; did you mean "pollMs"/);
  expect(() => a2aAgent({ url: "http://x", pollMs: 0 })).toThrow(/more than 0/);
  // a timer takes more for 1 ms
  expect(() => a2aAgent({ url: "http://x", pollMs: 2 ** 31 })).toThrow(/at most 2147483647/);
});
