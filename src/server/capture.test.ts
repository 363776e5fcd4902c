import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import { HumanMessage, ToolMessage } from "@langchain/core/messages";
import { tool as langChainTool } from "@langchain/core/tools";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { ChatOpenAI } from "@langchain/openai";
import { generateText, isStepCount, streamText, tool } from "ai";
import OpenAI from "openai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { makeScore } from "../schema/score.ts";
import { type Capture, createCapture } from "./capture.ts";
import { scriptedModel } from "./testing/scripted-model.ts";

// Nobody listens where these agents' clients point: what is not captured fails.
const baseURL = "http://captured.invalid/v1";

/** Looks up what it was asked for, and says what it was told. */
const model = scriptedModel((read) => {
  const asked = /user-\d+/.exec(read)?.[0];
  const told = /found-\d+/.exec(read)?.[0];
  if (read.includes("Find") && told === undefined) {
    return `<tool_call>\n{"name": "find", "arguments": {"who": "${asked}"}}\n</tool_call>`;
  }
  return told === undefined ? `you are ${asked}` : `${asked} is ${told}`;
});
const find = ({ who }: { who: string }) => who.replace("user", "found");

let capturing: Capture;
beforeAll(() => {
  capturing = createCapture(model);
});
afterAll(() => capturing.close());

const textsOf = ({ rollout }: Awaited<ReturnType<Capture["capture"]>>) =>
  rollout
    .trajectories({ taskId: "t", score: makeScore({ outcome: 1 }) })
    .map(({ turns }) => turns.map(({ text }) => text.replaceAll("\n", "")));

const callFor = (i: number) => `<tool_call>{"name": "find", "arguments": {"who": "user-${i}"}}</tool_call>`;

/** A graph of two nodes, as LangGraph's own guide has it. */
function langGraphAgent(): (question: string) => Promise<string> {
  const tools = [langChainTool(find, { name: "find", description: "Finds", schema: z.object({ who: z.string() }) })];
  const chat = new ChatOpenAI({ model: "tiny", temperature: 0, apiKey: "none", configuration: { baseURL } });
  const bound = chat.bindTools(tools);
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("model", async ({ messages }) => ({ messages: [await bound.invoke(messages)] }))
    .addNode("tools", new ToolNode(tools))
    .addEdge(START, "model")
    .addEdge("tools", "model")
    .addConditionalEdges("model", ({ messages }) => {
      const last = messages.at(-1);
      return last !== undefined && "tool_calls" in last && Array.isArray(last.tool_calls) && last.tool_calls.length > 0
        ? "tools"
        : END;
    })
    .compile();
  return async (question) => {
    const { messages } = await graph.invoke({ messages: [new HumanMessage(question)] });
    expect(messages.some((message) => message instanceof ToolMessage)).toBe(true);
    return messages.at(-1)!.text;
  };
}

async function aiSdkAgent(question: string): Promise<string> {
  const schema = z.object({ who: z.string() });
  const { text } = await generateText({
    model: createOpenAICompatible({ name: "x", baseURL })("tiny"),
    prompt: question,
    temperature: 0,
    stopWhen: isStepCount(3),
    tools: { find: tool({ description: "Finds", inputSchema: schema, execute: find }) },
  });
  return text;
}

async function openAiAgent(question: string): Promise<string> {
  const client = new OpenAI({ baseURL, apiKey: "none" });
  const run = client.chat.completions.runTools({
    model: "tiny",
    temperature: 0,
    messages: [{ role: "user", content: question }],
    tools: [
      {
        type: "function",
        function: {
          name: "find",
          parse: JSON.parse,
          function: find,
          description: "Finds",
          parameters: { type: "object" },
        },
      },
    ],
  });
  return (await run.finalContent()) ?? "";
}

async function anthropicAgent(question: string): Promise<string> {
  const client = new Anthropic({ baseURL: baseURL.replace("/v1", ""), apiKey: "none" });
  const options = { model: "tiny", max_tokens: 200, temperature: 0 };
  const tools = [{ name: "find", input_schema: { type: "object" as const } }];
  const messages: Anthropic.MessageParam[] = [{ role: "user", content: question }];
  for (;;) {
    const { content } = await client.messages.create({ ...options, tools, messages });
    const used = content.find((block) => block.type === "tool_use");
    if (used === undefined) return content.map((block) => (block.type === "text" ? block.text : "")).join("");
    const found = find(used.input as { who: string });
    const result = { type: "tool_result" as const, tool_use_id: used.id, content: found };
    messages.push({ role: "assistant", content }, { role: "user", content: [result] });
  }
}

async function responsesAgent(question: string): Promise<string> {
  const client = new OpenAI({ baseURL, apiKey: "none" });
  const parameters = { type: "object", properties: { who: { type: "string" } } };
  const tools = [{ type: "function" as const, name: "find", strict: false, parameters }];
  const input: OpenAI.Responses.ResponseInput = [{ role: "user", content: question }];
  for (;;) {
    const { output, output_text: text } = await client.responses.create({
      model: "tiny",
      temperature: 0,
      input,
      tools,
    });
    const calls = output.flatMap((item) => (item.type === "function_call" ? [item] : []));
    if (calls.length === 0) return text;
    const results = calls.map((call) => {
      const found = find(JSON.parse(call.arguments));
      return { type: "function_call_output" as const, call_id: call.call_id, output: found };
    });
    input.push(...calls, ...results);
  }
}

/** Streams, and lets Google's client keep the history. */
async function geminiAgent(question: string): Promise<string> {
  const client = new GoogleGenAI({ apiKey: "none", httpOptions: { baseUrl: baseURL.replace("/v1", "") } });
  const parametersJsonSchema = { type: "object", properties: { who: { type: "string" } } };
  const tools = [{ functionDeclarations: [{ name: "find", description: "Finds", parametersJsonSchema }] }];
  const chat = client.chats.create({ model: "tiny", config: { tools, temperature: 0 } });
  const first = await chat.sendMessageStream({ message: question });
  const results = [];
  for await (const { functionCalls = [] } of first) {
    for (const { id, name, args } of functionCalls) {
      const output = find(args as { who: string });
      results.push({ functionResponse: { id: id!, name: name!, response: { output } } });
    }
  }
  return (await chat.sendMessage({ message: results })).text ?? "";
}

async function fetchAgent(question: string): Promise<string> {
  const messages = [{ role: "user", content: question.replace("Find", "Greet") }];
  const body = JSON.stringify({ model: "tiny", temperature: 0, messages });
  const headers = { "content-type": "application/json" };
  const response = await fetch(`${baseURL}/chat/completions`, { method: "POST", headers, body });
  const { choices } = (await response.json()) as { choices: [{ message: { content: string } }] };
  return choices[0].message.content;
}

test("LangGraph's graphs are captured: model, tools, model", async () => {
  const agent = langGraphAgent();
  const captured = await capturing.capture(() => agent("Find user-7"));
  expect(captured.value).toBe("user-7 is found-7");
  expect(textsOf(captured)).toEqual([[callFor(7), "user-7 is found-7"]]);
});

test("a hundred agents of seven kinds at once are never mixed up", async () => {
  const langGraph = langGraphAgent();
  const kinds = [openAiAgent, aiSdkAgent, anthropicAgent, langGraph, responsesAgent, geminiAgent, fetchAgent];
  const all = await Promise.all(
    Array.from({ length: 100 }, (_, i) => capturing.capture(() => kinds[i % 7](`Find user-${i}`))),
  );
  for (const [i, captured] of all.entries()) {
    const isPlain = i % 7 === 6;
    expect(captured.value).toBe(isPlain ? `you are user-${i}` : `user-${i} is found-${i}`);
    expect(textsOf(captured)).toEqual([isPlain ? [`you are user-${i}`] : [callFor(i), `user-${i} is found-${i}`]]);
  }
});

test("streams inside are captured too, and one that is left early is not recorded", async () => {
  const provider = createOpenAICompatible({ name: "x", baseURL });
  const captured = await capturing.capture(async () => {
    const { textStream } = streamText({ model: provider("tiny"), prompt: "I am user-3", temperature: 0 });
    let text = "";
    for await (const part of textStream) text += part;
    return text;
  });
  expect(captured.value).toBe("you are user-3");
  expect(textsOf(captured)).toEqual([["you are user-3"]]);
  const client = new OpenAI({ baseURL, apiKey: "none" });
  const left = await capturing.capture(async () => {
    const messages = [{ role: "user" as const, content: "I am user-4" }];
    const stream = await client.chat.completions.create({ model: "tiny", messages, stream: true });
    for await (const _part of stream) break;
  });
  expect(left.rollout.calls).toBe(0);
});
