import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import Anthropic from "@anthropic-ai/sdk";
import { APICallError, generateText, isStepCount, streamText, tool } from "ai";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { LudusError } from "../errors.ts";
import { type ModelServer, serveModel } from "./openai-server.ts";
import { scriptedModel } from "./testing/scripted-model.ts";

// The clients people have, as they are, against the server: nothing is stubbed but the model's words.

const callOf = (query: string, name = "search") =>
  `<tool_call>\n{"name": "${name}", "arguments": {"query": "${query}"}}\n</tool_call>`;
const model = scriptedModel((read) => {
  if (read.includes("scarlet") && read.includes("green")) return "Both are known.";
  if (read.endsWith("green") || read.endsWith("green\n")) return "It is green.";
  if (read.includes("two tools")) return `Let me look.\n${callOf("tea")}\n${callOf("rum", "weigh")}`;
  if (read.includes("broken call")) return "Let me look.\n<tool_call>\n{search tea}\n</tool_call>";
  if (read.includes("forced")) return 'search", "arguments": {"query": "tea"}}\n</tool_call>';
  return read.includes("use the tool") ? callOf("tea") : "Grüße 👋! How are you today?";
});

let server: ModelServer;
let openai: OpenAI;
let anthropic: Anthropic;
const retries = { maxRetries: 0 };
beforeAll(async () => {
  server = await serveModel({ model });
  openai = new OpenAI({ baseURL: server.url, apiKey: "none", ...retries });
  anthropic = new Anthropic({ baseURL: server.url.replace(/\/v1$/, ""), apiKey: "none", ...retries });
});
afterAll(() => server.close());

/** A server whose model waits before each slice, until it is let go or the client goes away. */
async function slowServer(options: { maxRequests?: number } = {}) {
  const aborted = new Set<AbortSignal>();
  const beforeSample = (_request: unknown, signal: AbortSignal | undefined) =>
    new Promise<void>((resolve) => {
      setTimeout(resolve, 20);
      signal?.addEventListener("abort", () => resolve(void aborted.add(signal)));
    });
  const slow = scriptedModel(() => "word ".repeat(200), { beforeSample });
  const own = await serveModel({ model: slow, ...options });
  return {
    own,
    abortions: () => aborted.size,
    samples: slow.engine.samples,
    client: new OpenAI({ baseURL: own.url, apiKey: "none", ...retries }),
  };
}

async function until(isTrue: () => boolean): Promise<void> {
  for (let tries = 0; tries < 1000 && !isTrue(); tries++) await new Promise((resolve) => setTimeout(resolve, 5));
  expect(isTrue()).toBe(true);
}

describe("OpenAI's SDK", () => {
  const search: OpenAI.ChatCompletionTool = {
    type: "function",
    function: { name: "search", parameters: { type: "object", properties: { query: { type: "string" } } } },
  };
  const weigh: OpenAI.ChatCompletionTool = { ...search, function: { ...search.function, name: "weigh" } };
  const ask = (content: string) => ({
    model: "tiny",
    messages: [{ role: "user" as const, content }],
    tools: [search, weigh],
    temperature: 0,
  });

  test("several calls at once, and their results fed back", async () => {
    const { message, finish_reason } = (await openai.chat.completions.create(ask("two tools"))).choices[0];
    expect(finish_reason).toBe("tool_calls");
    expect(message.content).toBe("Let me look.");
    const calls = message.tool_calls!.flatMap((call) => (call.type === "function" ? [call] : []));
    expect(calls.map((call) => [call.function.name, JSON.parse(call.function.arguments)])).toEqual([
      ["search", { query: "tea" }],
      ["weigh", { query: "rum" }],
    ]);
    expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
    const results = calls.map((call, i) => ({
      role: "tool" as const,
      tool_call_id: call.id,
      content: i === 0 ? "green" : "scarlet",
    }));
    const asked = ask("two tools");
    const next = await openai.chat.completions.create({ ...asked, messages: [...asked.messages, message, ...results] });
    expect(next.choices[0].message.content).toBe("Both are known.");
    const one = await openai.chat.completions.create({ ...asked, parallel_tool_calls: false });
    expect(one.choices[0].message.tool_calls).toHaveLength(1);
  });

  test("text streams as it comes, each call when it is whole, and all of it is what comes unstreamed", async () => {
    const seen: string[] = [];
    const runner = openai.chat.completions.stream(ask("two tools"));
    for await (const { choices } of runner) {
      if (choices[0]?.delta.content) seen.push("text");
      if (choices[0]?.delta.tool_calls) seen.push(`call ${choices[0].delta.tool_calls[0].index}`);
    }
    expect(seen.filter((part) => part === "text").length).toBeGreaterThan(1);
    expect(seen.slice(-2)).toEqual(["call 0", "call 1"]);
    const { message } = (await runner.finalChatCompletion()).choices[0];
    expect(message.content).toBe("Let me look.");
    expect(message.tool_calls!.map((call) => call.type === "function" && call.function.arguments)).toEqual([
      '{"query":"tea"}',
      '{"query":"rum"}',
    ]);
    const broken = await openai.chat.completions.stream(ask("broken call")).finalChatCompletion();
    const whole = await openai.chat.completions.create(ask("broken call"));
    expect(broken.choices[0].message.content).toBe("Let me look.\n<tool_call>\n{search tea}\n</tool_call>");
    expect(whole.choices[0].message.content).toBe(broken.choices[0].message.content);
  });

  test("a tool that must be called is called; a choice that cannot be enforced is refused", async () => {
    const named = { type: "function" as const, function: { name: "search" } };
    const first = model.engine.samples.length;
    const chosen = await openai.chat.completions.create({ ...ask("use the tool"), tool_choice: named, max_tokens: 4 });
    expect(chosen.usage!.completion_tokens).toBeGreaterThan(4);
    const prompt = model.tokenizer.decode(model.engine.samples[first].tokens, { special: true });
    expect(prompt.endsWith('<|im_start|><tool_call>\n{"name": "search", "arguments": ')).toBe(true);
    await openai.chat.completions.create({ ...ask("use the tool"), tool_choice: "required", max_tokens: 4 });
    const open = model.tokenizer.decode(model.engine.samples.at(-1)!.tokens, { special: true });
    expect(open).toContain('<tool_call>\n{"name": "');
    const none = await openai.chat.completions.create({ ...ask("use the tool"), tool_choice: "none" });
    expect(none.choices[0].message).toMatchObject({ content: callOf("tea") });
    const other = { type: "function" as const, function: { name: "fly" } };
    await expect(openai.chat.completions.create({ ...ask("x"), tool_choice: other })).rejects.toMatchObject({
      status: 400,
      param: "tool_choice",
    });
  });

  test("log-probabilities stream too", async () => {
    const { tools: _tools, ...plain } = ask("hello");
    const options = { ...plain, logprobs: true, top_logprobs: 2 };
    const streamed = await openai.chat.completions.stream(options).finalChatCompletion();
    const whole = await openai.chat.completions.create(options);
    expect(streamed.choices[0].logprobs).toEqual(whole.choices[0].logprobs);
    expect(whole.choices[0].logprobs!.content!.length).toBeGreaterThan(20);
  });

  test("each error is of its class, streamed or not", async () => {
    const long = ask("x".repeat(5000));
    await expect(openai.chat.completions.create(long)).rejects.toBeInstanceOf(OpenAI.BadRequestError);
    await expect(openai.chat.completions.create({ ...long, stream: true })).rejects.toMatchObject({
      status: 400,
      code: "context_length_exceeded",
    });
    await expect(openai.chat.completions.create({ ...ask("x"), model: "other" })).rejects.toBeInstanceOf(
      OpenAI.NotFoundError,
    );
    const locked = await serveModel({ model, apiKey: "k" });
    const stranger = new OpenAI({ baseURL: locked.url, apiKey: "wrong", ...retries });
    await expect(stranger.chat.completions.create(ask("x"))).rejects.toBeInstanceOf(OpenAI.AuthenticationError);
    await locked.close();
    const closed = new LudusError("engine-closed", { got: "a sample", expected: "an open engine" });
    const dead = await serveModel({ model: scriptedModel(() => "", { beforeSample: () => Promise.reject(closed) }) });
    const mourner = new OpenAI({ baseURL: dead.url, apiKey: "none", ...retries });
    await expect(mourner.chat.completions.create(ask("x"))).rejects.toBeInstanceOf(OpenAI.InternalServerError);
    await expect(mourner.chat.completions.create(ask("x"))).rejects.toMatchObject({ status: 503 });
    const stream = await mourner.chat.completions.create({ ...ask("x"), stream: true });
    const readAll = async () => {
      for await (const _part of stream);
    };
    await expect(readAll()).rejects.toBeInstanceOf(OpenAI.APIError);
    await dead.close();
  });

  test("beyond the limit requests are refused, and a client that asks again gets its answer", async () => {
    const { own, client } = await slowServer({ maxRequests: 1 });
    const brief = { model: "tiny", messages: [{ role: "user" as const, content: "hello" }], max_tokens: 8 };
    const [first, second] = await Promise.allSettled([
      client.chat.completions.create(brief),
      client.chat.completions.create(brief),
    ]);
    const refused = [first, second].find(({ status }) => status === "rejected") as PromiseRejectedResult;
    expect(refused.reason).toBeInstanceOf(OpenAI.RateLimitError);
    expect(refused.reason.headers.get("retry-after")).toBe("1");
    expect([first, second].filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    await client.chat.completions.create(brief);
    await own.close();
  });

  test("a client that goes away in the middle of a stream frees its place", async () => {
    const { own, client, abortions, samples } = await slowServer({ maxRequests: 1 });
    const body = { model: "tiny", messages: [{ role: "user" as const, content: "hello" }] };
    const stream = await client.chat.completions.create({ ...body, stream: true });
    let parts = 0;
    for await (const { choices } of stream) {
      if (choices[0]?.delta.content && ++parts === 2) break;
    }
    await until(() => abortions() === 1);
    expect((await client.chat.completions.create({ ...body, max_tokens: 3 })).choices).toHaveLength(1);
    const controller = new AbortController();
    // a stop string has it sampled in slices, as a stream
    const waiting = client.chat.completions.create({ ...body, stop: "zzz" }, { signal: controller.signal });
    const begun = samples.length;
    await until(() => samples.length > begun);
    controller.abort();
    await expect(waiting).rejects.toBeInstanceOf(OpenAI.APIUserAbortError);
    await until(() => abortions() === 2);
    await own.close();
  });
});

describe("the AI SDK", () => {
  const provider = () => createOpenAICompatible({ name: "ludus", baseURL: server.url, includeUsage: true });
  const inputSchema = z.object({ query: z.string() });
  const tools = {
    search: tool({ description: "Finds", inputSchema, execute: ({ query }) => (query === "tea" ? "green" : "none") }),
    weigh: tool({ description: "Weighs", inputSchema, execute: () => "scarlet" }),
  };
  const common = () => ({ model: provider()("tiny"), temperature: 0, maxRetries: 0 });

  test("generates, with tools and their results, until it is done", async () => {
    const { text, usage } = await generateText({ ...common(), prompt: "hello" });
    expect(text).toBe("Grüße 👋! How are you today?");
    expect(usage.outputTokens).toBe(new TextEncoder().encode(text).length + 1);
    const result = await generateText({ ...common(), tools, prompt: "use the tool", stopWhen: isStepCount(4) });
    expect(result.text).toBe("It is green.");
    expect(result.steps.map(({ toolCalls }) => toolCalls.map(({ toolName }) => toolName))).toEqual([["search"], []]);
    const both = await generateText({ ...common(), tools, prompt: "two tools", stopWhen: isStepCount(4) });
    expect(both.steps[0].text).toBe("Let me look.");
    expect(both.steps[0].toolResults.map(({ output }) => output)).toEqual(["green", "scarlet"]);
    expect(both.text).toBe("Both are known.");
  });

  test("streams text in parts, then calls", async () => {
    const result = streamText({ ...common(), tools, prompt: "two tools", stopWhen: isStepCount(1) });
    const kinds: string[] = [];
    for await (const part of result.fullStream) {
      if (part.type === "text-delta" || part.type === "tool-call") kinds.push(part.type);
    }
    expect(kinds.filter((kind) => kind === "text-delta").length).toBeGreaterThan(1);
    expect(kinds.slice(-2)).toEqual(["tool-call", "tool-call"]);
    expect(await result.text).toBe("Let me look.");
    expect(await result.finishReason).toBe("tool-calls");
  });

  test("errors are its own, with their status", async () => {
    const failed = generateText({ ...common(), model: provider()("other"), prompt: "hello" });
    await expect(failed).rejects.toSatisfy((error) => APICallError.isInstance(error) && error.statusCode === 404);
    const long = generateText({ ...common(), prompt: "x".repeat(5000) });
    await expect(long).rejects.toMatchObject({ statusCode: 400, isRetryable: false });
  });

  test("an abort in mid-stream reaches the engine", async () => {
    const { own, abortions } = await slowServer();
    const controller = new AbortController();
    const slow = createOpenAICompatible({ name: "slow", baseURL: own.url })("tiny");
    const { textStream } = streamText({ model: slow, prompt: "hello", abortSignal: controller.signal });
    for await (const _part of textStream) controller.abort();
    await until(() => abortions() === 1);
    await own.close();
  });
});

describe("Anthropic's SDK", () => {
  const inputSchema = { type: "object" as const, properties: { query: { type: "string" } } };
  const tools = [
    { name: "search", input_schema: inputSchema },
    { name: "weigh", input_schema: inputSchema },
  ];
  const ask = (content: string) => ({
    model: "tiny",
    max_tokens: 300,
    messages: [{ role: "user" as const, content }],
    temperature: 0,
  });

  test("talks, with tools and their results", async () => {
    const plain = await anthropic.messages.create({ ...ask("hello"), system: "Be kind." });
    expect(plain).toMatchObject({ stop_reason: "end_turn", content: [{ text: "Grüße 👋! How are you today?" }] });
    const first = await anthropic.messages.create({ ...ask("two tools"), tools });
    expect(first.stop_reason).toBe("tool_use");
    expect(first.content).toMatchObject([
      { type: "text", text: "Let me look." },
      { type: "tool_use", name: "search", input: { query: "tea" } },
      { type: "tool_use", name: "weigh", input: { query: "rum" } },
    ]);
    const results = first.content.flatMap((block, i) =>
      block.type === "tool_use"
        ? [{ type: "tool_result" as const, tool_use_id: block.id, content: i === 1 ? "green" : "scarlet" }]
        : [],
    );
    const messages: Anthropic.MessageParam[] = [
      ...ask("two tools").messages,
      { role: "assistant", content: first.content },
      { role: "user", content: results },
    ];
    const next = await anthropic.messages.create({ ...ask(""), messages, tools });
    expect(next.content).toMatchObject([{ type: "text", text: "Both are known." }]);
    const single = { type: "auto" as const, disable_parallel_tool_use: true };
    const one = await anthropic.messages.create({ ...ask("two tools"), tools, tool_choice: single });
    expect(one.content.filter(({ type }) => type === "tool_use")).toHaveLength(1);
  });

  test("streams what it says unstreamed, text in parts", async () => {
    const stream = anthropic.messages.stream({ ...ask("two tools"), tools });
    let parts = 0;
    stream.on("text", () => parts++);
    const streamed = await stream.finalMessage();
    expect(parts).toBeGreaterThan(1);
    const whole = await anthropic.messages.create({ ...ask("two tools"), tools });
    const shown = ({ content }: Anthropic.Message) =>
      content.map((block) =>
        block.type === "tool_use" ? [block.name, block.input] : block.type === "text" && block.text,
      );
    expect(shown(streamed)).toEqual(shown(whole));
    expect(streamed.usage.output_tokens).toBe(whole.usage.output_tokens);
    expect(streamed.stop_reason).toBe("tool_use");
  });

  test("what Claude's own programs send is understood: system messages in between, thoughts, deferred tools", async () => {
    const messages = [
      { role: "user", content: "hello" },
      { role: "system", content: [{ type: "text", text: "It is Monday." }] },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "Hm.", signature: "s" },
          { type: "text", text: "Hi." },
        ],
      },
      { role: "user", content: "two tools" },
    ] as Anthropic.MessageParam[];
    const deferred = { ...tools[1], name: "hidden", defer_loading: true };
    const { content } = await anthropic.messages.create({ ...ask(""), messages, tools: [...tools, deferred] });
    expect(content[0]).toMatchObject({ text: "Let me look." });
    const prompt = model.tokenizer.decode(model.engine.samples.at(-1)!.tokens, { special: true });
    expect(prompt).toMatch(/hello.*It is Monday\..*Hi\..*two tools/s);
    expect(prompt).not.toMatch(/Hm\.|hidden/);
  });

  test("a tool that must be called is called", async () => {
    const choices = [{ type: "any" as const }, { type: "tool" as const, name: "weigh" }];
    for (const toolChoice of choices) {
      await anthropic.messages.create({ ...ask("use the tool"), tools, tool_choice: toolChoice, max_tokens: 4 });
      const prompt = model.tokenizer.decode(model.engine.samples.at(-1)!.tokens, { special: true });
      expect(prompt.includes('<|im_start|><tool_call>\n{"name": "')).toBe(true);
    }
  });

  test("each error is of its class", async () => {
    await expect(anthropic.messages.create({ ...ask("x"), model: "other" })).rejects.toBeInstanceOf(
      Anthropic.NotFoundError,
    );
    const long = anthropic.messages.create(ask("x".repeat(5000)));
    await expect(long).rejects.toBeInstanceOf(Anthropic.BadRequestError);
    const locked = await serveModel({ model, apiKey: "k" });
    const baseURL = locked.url.replace(/\/v1$/, "");
    const stranger = new Anthropic({ baseURL, apiKey: "wrong", ...retries });
    await expect(stranger.messages.create(ask("x"))).rejects.toBeInstanceOf(Anthropic.AuthenticationError);
    const known = new Anthropic({ baseURL, apiKey: "k", ...retries });
    expect((await known.messages.create(ask("x"))).type).toBe("message");
    await locked.close();
    const busy = await serveModel({ model, maxRequests: 0 });
    const waiting = new Anthropic({ baseURL: busy.url.replace(/\/v1$/, ""), apiKey: "none", ...retries });
    await expect(waiting.messages.create(ask("x"))).rejects.toBeInstanceOf(Anthropic.RateLimitError);
    await busy.close();
  });
});
