import { AsyncLocalStorage } from "node:async_hooks";
import { ApiError, FunctionCallingConfigMode, type GenerateContentParameters, GoogleGenAI, Type } from "@google/genai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runRollout } from "../rollout/run-rollout.ts";
import { listed } from "../task/listed.ts";
import { agentEnv } from "./agent-env.ts";
import { type ModelServer, serveModel } from "./openai-server.ts";
import { scriptedModel } from "./testing/scripted-model.ts";

// Google's client as it is against the server: nothing is stubbed but the model's words.

const callOf = (query: string, name = "search") =>
  `<tool_call>\n{"name": "${name}", "arguments": {"query": "${query}"}}\n</tool_call>`;
const model = scriptedModel((read) => {
  if (read.includes("scarlet") && read.includes("green")) return "Both are known.";
  if (read.includes("two tools")) return `Let me look.\n${callOf("tea")}\n${callOf("rum", "weigh")}`;
  if (read.includes("as JSON")) return '{"colour": "green"}';
  return "Grüße 👋! How are you today?";
});

let server: ModelServer;
let client: GoogleGenAI;
const clientOf = (url: string, apiKey = "none") =>
  new GoogleGenAI({ apiKey, httpOptions: { baseUrl: url.replace(/\/v1$/, "") } });
beforeAll(async () => {
  server = await serveModel({ model });
  client = clientOf(server.url);
});
afterAll(() => server.close());

const parameters = { type: Type.OBJECT, properties: { query: { type: Type.STRING, nullable: true } } };
const tools = [
  { functionDeclarations: ["search", "weigh"].map((name) => ({ name, description: "Finds", parameters })) },
];
const ask = (contents: GenerateContentParameters["contents"]): GenerateContentParameters => ({
  model: "tiny",
  contents,
  config: { tools, temperature: 0, systemInstruction: "Be kind." },
});
const promptOf = (index: number) => model.tokenizer.decode(model.engine.samples.at(index)!.tokens, { special: true });

test("talks, with tools and their results fed back", async () => {
  const plain = await client.models.generateContent({ model: "tiny", contents: "hello", config: { temperature: 0 } });
  expect(plain.text).toBe("Grüße 👋! How are you today?");
  expect(plain.candidates?.[0].finishReason).toBe("STOP");
  expect(plain.usageMetadata!.candidatesTokenCount).toBe(new TextEncoder().encode(plain.text).length + 1);
  const first = await client.models.generateContent(ask("two tools"));
  expect(promptOf(-1)).toContain("Be kind.");
  expect(promptOf(-1)).toContain('"type": ["string", "null"]');
  const { content } = first.candidates![0];
  expect(content!.parts![0].text).toBe("Let me look.");
  expect(first.functionCalls!.map(({ name, args }) => [name, args])).toEqual([
    ["search", { query: "tea" }],
    ["weigh", { query: "rum" }],
  ]);
  const [search, weigh] = first.functionCalls!;
  const results = [
    { functionResponse: { id: search.id!, name: "search", response: { output: "green" } } },
    { functionResponse: { id: weigh.id!, name: "weigh", response: { grams: 3, colour: "scarlet" } } },
  ];
  const question = { role: "user", parts: [{ text: "two tools" }] };
  const next = await client.models.generateContent(ask([question, content!, { role: "user", parts: results }]));
  expect(next.text).toBe("Both are known.");
  expect(promptOf(-1)).toContain('{"grams":3,"colour":"scarlet"}');
});

test("streams what it says unstreamed, text in parts and calls whole", async () => {
  const parts = [];
  let finish: string | undefined;
  for await (const chunk of await client.models.generateContentStream(ask("two tools"))) {
    parts.push(...(chunk.candidates?.[0].content?.parts ?? []));
    finish ??= chunk.candidates?.[0].finishReason;
  }
  expect(parts.filter(({ text }) => text).length).toBeGreaterThan(1);
  expect(parts.map(({ text }) => text ?? "").join("")).toBe("Let me look.");
  expect(parts.flatMap(({ functionCall }) => functionCall?.name ?? [])).toEqual(["search", "weigh"]);
  expect(finish).toBe("STOP");
  const address = `${server.url.replace(/\/v1$/, "/v1beta")}/models/tiny:streamGenerateContent`;
  const body = JSON.stringify({ contents: [{ parts: [{ text: "hello" }] }], generationConfig: { temperature: 0 } });
  const plain = await fetch(address, { method: "POST", headers: { "content-type": "application/json" }, body });
  const chunks = (await plain.json()) as { candidates: { content: { parts: { text: string }[] } }[] }[];
  expect(chunks.map(({ candidates }) => candidates[0].content.parts[0].text).join("")).toMatch(/^Grüße .* today\?$/);
});

test("a chat keeps its history", async () => {
  const chat = client.chats.create({ model: "tiny", config: { temperature: 0 } });
  await chat.sendMessage({ message: "hello" });
  await chat.sendMessage({ message: "again" });
  expect(promptOf(-1)).toMatch(/hello.*Grüße.*again/s);
});

test("a tool that must be called is called, JSON is asked for, log-probabilities are told", async () => {
  const choose = (mode: FunctionCallingConfigMode, allowedFunctionNames?: string[]) =>
    client.models.generateContent({
      ...ask("x"),
      config: {
        tools,
        maxOutputTokens: 4,
        toolConfig: { functionCallingConfig: { mode, ...(allowedFunctionNames && { allowedFunctionNames }) } },
      },
    });
  const first = model.engine.samples.length;
  await choose(FunctionCallingConfigMode.ANY, ["weigh"]);
  expect(promptOf(first).endsWith('<|im_start|><tool_call>\n{"name": "weigh", "arguments": ')).toBe(true);
  const second = model.engine.samples.length;
  await choose(FunctionCallingConfigMode.ANY);
  expect(promptOf(second).endsWith('<|im_start|><tool_call>\n{"name": "')).toBe(true);
  await choose(FunctionCallingConfigMode.NONE);
  expect(promptOf(-1)).not.toContain("weigh");
  const responseSchema = { type: Type.OBJECT, properties: { colour: { type: Type.STRING } }, required: ["colour"] };
  const json = await client.models.generateContent({
    model: "tiny",
    contents: "as JSON",
    config: { temperature: 0, responseMimeType: "application/json", responseSchema },
  });
  expect(JSON.parse(json.text!)).toEqual({ colour: "green" });
  expect(promptOf(-1)).toContain('"required":["colour"]');
  const told = await client.models.generateContent({
    model: "tiny",
    contents: "hello",
    config: { temperature: 0, responseLogprobs: true, logprobs: 2, maxOutputTokens: 3 },
  });
  const { chosenCandidates, topCandidates } = told.candidates![0].logprobsResult!;
  expect(told.candidates![0].finishReason).toBe("MAX_TOKENS");
  expect(chosenCandidates).toHaveLength(3);
  expect(topCandidates!.map(({ candidates }) => candidates!.length)).toEqual([2, 2, 2]);
});

test("errors come with their status and say what was wrong", async () => {
  const refused = (more: Partial<GenerateContentParameters>, from = client) =>
    from.models.generateContent({ ...ask("x"), ...more }).then(
      () => "answered",
      (error) => (error instanceof ApiError ? [error.status, error.message] : error),
    );
  expect(await refused({ model: "other" })).toEqual([404, expect.stringContaining("NOT_FOUND")]);
  expect(await refused({ contents: "x".repeat(5000) })).toEqual([400, expect.stringContaining("context of tiny")]);
  const image = { inlineData: { mimeType: "image/png", data: "AAAA" } };
  expect(await refused({ contents: [{ role: "user", parts: [image] }] })).toEqual([
    400,
    expect.stringContaining("contents.0.parts.0"),
  ]);
  expect(await refused({ config: { tools: [{ googleSearch: {} }] } })).toEqual([
    400,
    expect.stringContaining("tools.0"),
  ]);
  expect(await refused({ config: { cachedContent: "c" } })).toEqual([
    400,
    expect.stringContaining("nothing is cached"),
  ]);
  const locked = await serveModel({ model, apiKey: "k" });
  expect(await refused({}, clientOf(locked.url, "wrong"))).toEqual([401, expect.stringContaining("UNAUTHENTICATED")]);
  expect(await refused({}, clientOf(locked.url, "k"))).toBe("answered");
  await locked.close();
  const odd = await fetch(`${server.url}/models/tiny:countTokens`, { method: "POST" });
  expect(odd.status).toBe(404);
});

/** Runs where no attempt captures `fetch`, as another process would. */
const outside = AsyncLocalStorage.snapshot();

/** A chat with two tools, over HTTP. */
async function solve(question: string, url: string, apiKey: string): Promise<number> {
  const chat = clientOf(url, apiKey).chats.create({ model: "tiny", config: { tools, temperature: 0.1 } });
  const { functionCalls = [] } = await chat.sendMessage({ message: question });
  const outputs = { search: "green", weigh: "scarlet" };
  const message = functionCalls.map(({ id, name }) => ({
    functionResponse: { id: id!, name: name!, response: { output: outputs[name as "search"] } },
  }));
  return (await chat.sendMessage({ message })).text === "Both are known." ? 1 : 0;
}

test("an agent on Google's client is an environment: tokens, log-probabilities and calls are recorded", async () => {
  const env = agentEnv({
    name: "gemini",
    tasks: listed([{ question: "two tools" }]),
    model: "tiny",
    limits: { turns: 4 },
    serve: {},
    run: ({ question }, { url, apiKey }) => outside(() => solve(question, url, apiKey)),
  });
  const task = await env.tasks.at("train", 0);
  const { stop, trajectories } = await runRollout(env, task, model, { id: "r", seed: 1, temperature: 0 });
  expect(stop).toBe("completed");
  expect(trajectories).toHaveLength(1);
  const [trajectory] = trajectories;
  expect(trajectory.score).toMatchObject({ total: 1 });
  expect(trajectory.turns.map(({ calls }) => calls.map(({ observation }) => observation))).toEqual([
    ["green", "scarlet"],
    [],
  ]);
  const sampled = trajectory.turns.map(({ span }) =>
    model.tokenizer.decode(trajectory.tokens_T.slice(span.start, span.end)),
  );
  expect(sampled).toEqual([`Let me look.\n${callOf("tea")}\n${callOf("rum", "weigh")}`, "Both are known."]);
  const learned = trajectory.mask_T.reduce((sum, mask) => sum + mask, 0);
  expect(learned).toBe(trajectory.turns.reduce((sum, { span }) => sum + span.end - span.start, 0));
});
