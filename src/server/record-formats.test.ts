import Anthropic from "@anthropic-ai/sdk";
import { type GenerateContentResponse, GoogleGenAI } from "@google/genai";
import OpenAI from "openai";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Trajectory } from "../schema/trajectory.ts";
import { type ModelServer, serveModel } from "./openai-server.ts";
import { scriptedModel } from "./testing/scripted-model.ts";

// The same episode with the official client of each protocol, streamed and not: what is recorded to learn from must not differ.

const call = '<tool_call>\n{"name": "find", "arguments": {"who": "user-7"}}\n</tool_call>';
const model = scriptedModel((read) => (read.includes("found-7") ? "user-7 is found-7" : `Let me look.\n${call}`));
const recorded: Trajectory[] = [];
let server: ModelServer;
beforeAll(async () => {
  const onRollout = (trajectories: readonly Trajectory[]) => void recorded.push(...trajectories);
  server = await serveModel({ model, apiKey: "open sesame", record: { onRollout } });
});
afterAll(() => server.close());

const apiKey = "open sesame";
const schema = { type: "object" as const, properties: { who: { type: "string" } } };
const about = { name: "find", description: "Finds" };
type Client = (base: string, isStreamed: boolean) => Promise<string>;

const chat: Client = async (base, isStreamed) => {
  const client = new OpenAI({ baseURL: `${base}/v1`, apiKey });
  const tools = [{ type: "function" as const, function: { ...about, parameters: schema } }];
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: "Find user-7" }];
  const ask = async () => {
    const asked = { model: "tiny", temperature: 0, messages, tools };
    if (isStreamed) return client.chat.completions.stream(asked).finalMessage();
    return (await client.chat.completions.create(asked)).choices[0].message;
  };
  const first = await ask();
  const id = first.tool_calls?.[0].id ?? "";
  messages.push(first, { role: "tool", tool_call_id: id, content: "found-7" });
  return (await ask()).content ?? "";
};

const responses: Client = async (base, isStreamed) => {
  const client = new OpenAI({ baseURL: `${base}/v1`, apiKey });
  const tools = [{ type: "function" as const, ...about, parameters: schema, strict: false }];
  const input: OpenAI.Responses.ResponseInput = [{ role: "user", content: "Find user-7" }];
  const ask = async () => {
    const asked = { model: "tiny", temperature: 0, input, tools };
    return isStreamed ? client.responses.stream(asked).finalResponse() : client.responses.create(asked);
  };
  const { output } = await ask();
  const used = output.flatMap((item) => (item.type === "function_call" ? [item] : []))[0];
  const said = output.flatMap((item) => (item.type === "message" ? [item] : []));
  input.push(...said, used, { type: "function_call_output", call_id: used.call_id, output: "found-7" });
  return (await ask()).output_text;
};

const anthropic: Client = async (base, isStreamed) => {
  const client = new Anthropic({ baseURL: base, apiKey });
  const messages: Anthropic.MessageParam[] = [{ role: "user", content: "Find user-7" }];
  const ask = async () => {
    const tools = [{ ...about, input_schema: schema }];
    const asked = { model: "tiny", max_tokens: 300, temperature: 0, messages, tools };
    return isStreamed ? client.messages.stream(asked).finalMessage() : client.messages.create(asked);
  };
  const { content } = await ask();
  const id = content.flatMap((block) => (block.type === "tool_use" ? [block.id] : []))[0];
  const result = { type: "tool_result" as const, tool_use_id: id, content: "found-7" };
  messages.push({ role: "assistant", content }, { role: "user", content: [result] });
  const [last] = (await ask()).content;
  return last.type === "text" ? last.text : "";
};

const gemini: Client = async (base, isStreamed) => {
  const client = new GoogleGenAI({ apiKey, httpOptions: { baseUrl: base } });
  const tools = [{ functionDeclarations: [{ ...about, parametersJsonSchema: schema }] }];
  const talk = client.chats.create({ model: "tiny", config: { tools, temperature: 0 } });
  const send = async (message: Parameters<typeof talk.sendMessage>[0]["message"]) => {
    if (!isStreamed) return [await talk.sendMessage({ message })];
    const chunks: GenerateContentResponse[] = [];
    for await (const chunk of await talk.sendMessageStream({ message })) chunks.push(chunk);
    return chunks;
  };
  const first = await send("Find user-7");
  const [used] = first.flatMap(({ functionCalls = [] }) => functionCalls);
  const result = { functionResponse: { id: used.id!, name: used.name!, response: { output: "found-7" } } };
  return (await send([result])).map(({ text = "" }) => text).join("");
};

test("four protocols record the same tokens, log-probabilities and calls", async () => {
  const clients = { chat, responses, anthropic, gemini };
  const root = server.url.replace(/\/v1$/, "");
  const names: string[] = [];
  for (const [name, client] of Object.entries(clients)) {
    for (const isStreamed of [false, true]) {
      const rollout = `${root}/rollouts/${name}-${isStreamed ? "stream" : "whole"}`;
      expect([name, await client(rollout, isStreamed)]).toEqual([name, "user-7 is found-7"]);
      const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
      const posted = await fetch(`${rollout}/reward`, { method: "POST", headers, body: '{"reward": 0.5}' });
      expect([name, await posted.json()]).toEqual([name, { trajectories: 1 }]);
      names.push(name);
    }
  }
  const facts = recorded.map(({ tokens_T, mask_T, logprobs_T, versions_T, turns, score }) => {
    const columns = [tokens_T, mask_T, logprobs_T, versions_T].map((column_T) => Array.from<number>(column_T));
    return { columns, total: score.total, calls: turns.map(({ calls }) => calls) };
  });
  expect(facts).toHaveLength(8);
  for (const [i, fact] of facts.entries()) expect({ name: names[i], ...fact }).toEqual({ name: names[i], ...facts[0] });
  const [{ turns, tokens_T, mask_T, logprobs_T, score }] = recorded;
  expect(score.total).toBe(0.5);
  expect(turns[0].calls).toEqual([
    { name: "find", arguments: { who: "user-7" }, outcome: "ok", observation: "found-7" },
  ]);
  const said = turns.map(({ span }) => model.tokenizer.decode(tokens_T.slice(span.start, span.end)));
  expect(said).toEqual([`Let me look.\n${call}`, "user-7 is found-7"]);
  const learned = Array.from(logprobs_T).filter((_, t) => mask_T[t] === 1);
  expect(learned).toHaveLength(turns.reduce((sum, { span }) => sum + span.end - span.start, 0));
});
