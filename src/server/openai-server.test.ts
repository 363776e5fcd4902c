import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makeScore, type Trajectory, trajectoryFromJson } from "../schema/index.ts";
import { createCapture } from "./capture.ts";
import { type ModelServer, serveModel } from "./openai-server.ts";
import { scriptedModel } from "./testing/scripted-model.ts";

const call = '<tool_call>\n{"name": "search", "arguments": {"query": "tea"}}\n</tool_call>';
const model = scriptedModel((read) => {
  if (read.endsWith("green\n") || read.endsWith("green")) return "It is green.";
  if (read.includes("use the tool")) return call;
  return read.includes("stop") ? "one, two, three" : "Grüße 👋!";
});
const tools: OpenAI.ChatCompletionTool[] = [
  {
    type: "function",
    function: {
      name: "search",
      description: "Find",
      parameters: { type: "object", properties: { query: { type: "string" } } },
    },
  },
];
const ask = (content: string): OpenAI.ChatCompletionCreateParamsNonStreaming => {
  return { model: "tiny", messages: [{ role: "user", content }], temperature: 0 };
};

let server: ModelServer;
let client: OpenAI;
const recorded: (readonly Trajectory[])[] = [];

beforeAll(async () => {
  server = await serveModel({ model, record: { onRollout: (trajectories) => recorded.push(trajectories) } });
  client = clientAt("/v1");
});
afterAll(() => server.close());

function clientAt(path: string): OpenAI {
  return new OpenAI({ baseURL: `http://127.0.0.1:${server.port}${path}`, apiKey: server.apiKey!, maxRetries: 0 });
}

async function post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`http://127.0.0.1:${server.port}${path}`, {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json", authorization: `Bearer ${server.apiKey}`, ...headers },
  });
}

describe("OpenAI's own client", () => {
  test("lists the model and talks with it", async () => {
    expect((await client.models.list()).data.map(({ id }) => id)).toEqual(["tiny"]);
    const { choices, usage } = await client.chat.completions.create(ask("hello"));
    expect(choices[0]).toMatchObject({ finish_reason: "stop", message: { role: "assistant", content: "Grüße 👋!" } });
    const said = new TextEncoder().encode("Grüße 👋!").length + 1;
    expect(usage).toEqual({ prompt_tokens: 6, completion_tokens: said, total_tokens: 6 + said });
  });

  test("streams the same, in whole characters and several parts", async () => {
    const stream = await client.chat.completions.create({
      ...ask("hello"),
      stream: true as const,
      stream_options: { include_usage: true },
    });
    const parts: string[] = [];
    let [finish, total] = ["", 0];
    for await (const { choices, usage } of stream) {
      parts.push(choices[0]?.delta.content ?? "");
      finish ||= choices[0]?.finish_reason ?? "";
      total ||= usage?.total_tokens ?? 0;
    }
    expect(parts.join("")).toBe("Grüße 👋!");
    expect(parts.filter((part) => part !== "").length).toBeGreaterThan(1);
    expect(parts.join("")).not.toContain("\ufffd");
    expect([finish, total]).toEqual(["stop", 6 + new TextEncoder().encode("Grüße 👋!").length + 1]);
  });

  test("the same seed says the same, streamed or not, and n answers differ", async () => {
    const options = { ...ask("hello"), temperature: 1.5, seed: 7, max_tokens: 20 };
    const once = (await client.chat.completions.create(options)).choices[0].message.content;
    const again = await client.chat.completions.create({ ...options, stream: true });
    let streamed = "";
    for await (const { choices } of again) streamed += choices[0]?.delta.content ?? "";
    expect(streamed).toBe(once);
    const { choices } = await client.chat.completions.create({ ...options, n: 4 });
    expect(choices[0].message.content).toBe(once);
    expect(new Set(choices.map(({ message }) => message.content)).size).toBeGreaterThan(1);
  });

  test("stop strings end the answer and are not in it, streamed or not; too few tokens say so", async () => {
    const options = { ...ask("stop"), stop: [", th", "xyz"] };
    expect((await client.chat.completions.create(options)).choices[0]).toMatchObject({
      finish_reason: "stop",
      message: { content: "one, two" },
    });
    let streamed = "";
    for await (const { choices } of await client.chat.completions.create({ ...options, stream: true })) {
      streamed += choices[0]?.delta.content ?? "";
    }
    expect(streamed).toBe("one, two");
    const short = await client.chat.completions.create({ ...ask("stop"), max_completion_tokens: 3 });
    expect(short.choices[0]).toMatchObject({ finish_reason: "length", message: { content: "one" } });
  });

  test("log-probabilities come with their alternatives", async () => {
    const { choices } = await client.chat.completions.create({ ...ask("stop"), logprobs: true, top_logprobs: 2 });
    const content = choices[0].logprobs!.content!;
    expect(content.map(({ token }) => token).join("")).toBe("one, two, three");
    expect(content[0].logprob).toBeCloseTo(Math.log(0.75), 5);
    expect(content[0].top_logprobs).toMatchObject([{ token: "o" }, { token: "!" }]);
    expect(content[0].bytes).toEqual([111]);
  });

  test("errors are of its own classes, and say what was wrong", async () => {
    await expect(client.chat.completions.create({ ...ask("hello"), model: "other" })).rejects.toMatchObject({
      status: 404,
      code: "model_not_found",
      type: "invalid_request_error",
    });
    await expect(client.chat.completions.create({ ...ask("hello"), temperature: 9 })).rejects.toMatchObject({
      status: 400,
      param: "temperature",
    });
    await expect(client.chat.completions.create(ask("x".repeat(5000)))).rejects.toMatchObject({
      status: 400,
      code: "context_length_exceeded",
    });
    await expect(client.embeddings.create({ model: "tiny", input: "a" })).rejects.toMatchObject({ status: 404 });
    const headers = { authorization: `Bearer ${server.apiKey}` };
    const form = await fetch(`${server.url}/chat/completions`, { method: "POST", body: "{}", headers });
    expect(form.status).toBe(400);
    expect(await form.json()).toMatchObject({ error: { type: "invalid_request_error" } });
  });
});

describe("recording", () => {
  /** An ordinary agent with one tool. */
  async function agent(own: OpenAI, question: string): Promise<string> {
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: question }];
    for (let turn = 0; turn < 3; turn++) {
      const { choices } = await own.chat.completions.create({ model: "tiny", messages, tools, temperature: 0 });
      const { message } = choices[0];
      messages.push(message);
      for (const each of message.tool_calls ?? []) {
        messages.push({ role: "tool", tool_call_id: each.id, content: "green" });
      }
      if (message.tool_calls === undefined) return message.content ?? "";
    }
    return "";
  }

  test("an unmodified agent leaves one trajectory of the very tokens it sampled", async () => {
    expect(await agent(clientAt("/rollouts/a/v1"), "use the tool")).toBe("It is green.");
    expect(await (await post("/rollouts/a/reward", { reward: 1, task: "tea" })).json()).toEqual({ trajectories: 1 });
    const [trajectory] = recorded.at(-1)!;
    expect(trajectory).toMatchObject({ rollout: "a", taskId: "tea", weight: 1, score: { total: 1, success: true } });
    const { tokens_T, mask_T, logprobs_T, turns } = trajectory;
    expect(turns.map(({ text, calls }) => [text, calls])).toEqual([
      [call, [{ name: "search", arguments: { query: "tea" }, outcome: "ok", observation: "green" }]],
      ["It is green.", []],
    ]);
    const said = turns.map(({ span }) =>
      model.tokenizer.decode(tokens_T.subarray(span.start, span.end), { special: true }),
    );
    expect(said).toEqual([`${call}<|im_end|>`, "It is green.<|im_end|>"]);
    // the second prompt was the first, what was sampled, and what is new: nothing was made into tokens twice
    const second = model.engine.samples.at(-1)!.tokens;
    expect(Array.from(tokens_T.subarray(0, turns[1].span.start))).toEqual(Array.from(second));
    expect(logprobs_T[turns[0].span.start]).toBeCloseTo(Math.log(0.75), 5);
    expect(mask_T.reduce((a, b) => a + b)).toBe(turns.reduce((sum, { span }) => sum + span.end - span.start, 0));
    const headers = { authorization: `Bearer ${server.apiKey}` };
    const ask = (method: string) => fetch(`http://127.0.0.1:${server.port}/rollouts/a`, { method, headers });
    // reading changes nothing; what was deleted is given once more, and is gone
    for (const method of ["GET", "GET", "DELETE"]) {
      const read = (await (await ask(method)).json()) as { trajectories: unknown[] };
      expect(trajectoryFromJson(read.trajectories[0])).toEqual(trajectory);
    }
    expect((await ask("GET")).status).toBe(404);
    expect((await ask("DELETE")).status).toBe(404);
  });

  test("a call that does not go on from another begins a trajectory; each token is learned from once", async () => {
    const headers = { "x-ludus-rollout": "b" };
    const say = (messages: unknown) =>
      post("/v1/chat/completions", { model: "tiny", messages, temperature: 0 }, headers);
    const first = { role: "user", content: "hello" };
    const reply = { role: "assistant", content: "Grüße 👋!" };
    await say([first]);
    await say([first, reply, { role: "user", content: "stop" }]);
    await say([first, reply, { role: "user", content: "more" }]);
    await say([first, { ...reply, content: "never said" }, { role: "user", content: "more" }]);
    await post("/rollouts/b/reward", { reward: { outcome: 0.5, format: 0.1 } });
    const trajectories = recorded.at(-1)!;
    expect(trajectories.map(({ turns }) => turns.length)).toEqual([2, 1, 1]);
    expect(trajectories.reduce((sum, { weight }) => sum + weight, 0)).toBeCloseTo(1);
    expect(trajectories[0].score).toMatchObject({ total: 0.6, success: false });
    const sampled = trajectories.map(({ mask_T }) => mask_T.reduce((a, b) => a + b));
    const length = (text: string) => new TextEncoder().encode(text).length + 1;
    expect(sampled).toEqual([
      length("Grüße 👋!") + length("one, two, three"),
      length("Grüße 👋!"),
      length("Grüße 👋!"),
    ]);
  });

  test("how a call begins that had to be made was not sampled, and is not learned from", async () => {
    const forced = { type: "function" as const, function: { name: "search" } };
    const asked = { ...ask("use the tool"), tools, tool_choice: forced };
    const { choices } = await clientAt("/rollouts/f/v1").chat.completions.create(asked);
    expect(choices[0].message.tool_calls).toMatchObject([
      { function: { name: "search", arguments: '{"query":"tea"}' } },
    ]);
    await post("/rollouts/f/reward", { reward: 1 });
    const { tokens_T, mask_T, versions_T, turns } = recorded.at(-1)![0];
    expect(turns.map(({ text }) => text)).toEqual([call]);
    const sampled = tokens_T.filter((_, t) => mask_T[t] === 1);
    expect(model.tokenizer.decode(sampled)).toBe('{"query": "tea"}}\n</tool_call>');
    expect(Array.from(versions_T)).toEqual(Array.from(mask_T, (m) => m - 1));
  });

  test("a reward for nothing is refused", async () => {
    expect((await post("/rollouts/none/reward", { reward: 1 })).status).toBe(404);
    expect((await post("/rollouts/b/reward", { reward: "much" })).status).toBe(400);
  });

  test("Anthropic's messages, with tools, in one rollout", async () => {
    const anthropic = {
      model: "tiny",
      max_tokens: 200,
      temperature: 0,
      tools: [{ name: "search", input_schema: { type: "object" } }],
    };
    const user = { role: "user", content: "use the tool" };
    const answered = await post("/rollouts/c/v1/messages", { ...anthropic, messages: [user] });
    const first = (await answered.json()) as { content: [{ id: string }] };
    expect(first).toMatchObject({
      type: "message",
      stop_reason: "tool_use",
      content: [{ type: "tool_use", name: "search" }],
    });
    const result = { type: "tool_result", tool_use_id: first.content[0].id, content: "green" };
    const messages = [user, { role: "assistant", content: first.content }, { role: "user", content: [result] }];
    const streamed = await (await post("/rollouts/c/v1/messages", { ...anthropic, messages, stream: true })).text();
    const events = [...streamed.matchAll(/^event: (.*)$/gm)].map(([, name]) => name);
    expect([...new Set(events)]).toEqual([
      ...["message_start", "content_block_start", "content_block_delta", "content_block_stop"],
      ...["message_delta", "message_stop"],
    ]);
    const parts = [...streamed.matchAll(/"text_delta","text":"([^"]*)"/g)].map(([, part]) => part);
    expect(parts.join("")).toBe("It is green.");
    expect(parts.length).toBeGreaterThan(1);
    await post("/rollouts/c/reward", { reward: 0 });
    expect(recorded.at(-1)!.map(({ turns }) => turns.length)).toEqual([2]);
    const wrong = await post("/v1/messages", { model: "tiny", messages: [user] });
    expect(await wrong.json()).toMatchObject({ type: "error", error: { type: "invalid_request_error" } });
  });
});

describe("keys", () => {
  test("are needed beyond loopback, and checked where they are set", async () => {
    await expect(serveModel({ model, host: "0.0.0.0" })).rejects.toMatchObject({ code: "key-required" });
    const locked = await serveModel({ model, apiKey: "k" });
    const own = (apiKey: string) => new OpenAI({ baseURL: locked.url, apiKey, maxRetries: 0 });
    await expect(own("wrong").models.list()).rejects.toMatchObject({ status: 401, code: "invalid_api_key" });
    expect((await own("k").models.list()).data).toHaveLength(1);
    await locked.close();
  });
});

test("captured agents of this process are never mixed up, and ask nobody else", async () => {
  const before = globalThis.fetch;
  const { capture, close } = createCapture(scriptedModel((read) => `you said ${/user-\d+/.exec(read)?.[0]}`));
  const own = new OpenAI({ baseURL: "http://127.0.0.1:9/v1", apiKey: "none", maxRetries: 0 });
  const results = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      capture(async () => {
        const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: `user-${i}` }];
        for (let turn = 0; turn < 2; turn++) {
          const { choices } = await own.chat.completions.create({ model: "tiny", messages, temperature: 0 });
          messages.push(choices[0].message, { role: "user", content: "again" });
        }
        return messages;
      }),
    ),
  );
  for (const [i, { value, rollout }] of results.entries()) {
    expect(value[1].content).toBe(`you said user-${i}`);
    const [trajectory, ...others] = rollout.trajectories({ taskId: `${i}`, score: makeScore({ outcome: 1 }) });
    expect(others).toEqual([]);
    expect(trajectory.turns.map(({ text }) => text)).toEqual([`you said user-${i}`, `you said user-${i}`]);
  }
  await expect(own.chat.completions.create({ model: "tiny", messages: [] })).rejects.toThrow();
  close();
  expect(globalThis.fetch).toBe(before);
});
