import { AsyncLocalStorage } from "node:async_hooks";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { HumanMessage } from "@langchain/core/messages";
import { tool as langChainTool } from "@langchain/core/tools";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { ChatOpenAI } from "@langchain/openai";
import { generateText, isStepCount, tool } from "ai";
import { expect, test } from "vitest";
import { z } from "zod";
import { runGroup } from "../../rollout/run-group.ts";
import { listed } from "../../task/listed.ts";
import { agentEnv } from "../agent-env.ts";
import { findingModel } from "./testing/finding-model.ts";

// Frameworks as they are published, over HTTP; larger ones are in frameworks.slow.test.ts.

interface Access {
  readonly url: string;
  readonly apiKey: string;
  readonly model: string;
}
type Agent = (question: string, access: Access) => Promise<string>;

/** Runs where no attempt captures `fetch`, as another process would. */
const outside = AsyncLocalStorage.snapshot();
const find = ({ who }: { who: string }) => who.replace("user", "found");
const schema = z.object({ who: z.string() });

const langGraph: Agent = async (question, { url, apiKey, model }) => {
  const tools = [langChainTool(find, { name: "find", description: "Finds", schema })];
  const chat = new ChatOpenAI({ model, apiKey, configuration: { baseURL: url } }).bindTools(tools);
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("model", async ({ messages }) => ({ messages: [await chat.invoke(messages)] }))
    .addNode("tools", new ToolNode(tools))
    .addEdge(START, "model")
    .addEdge("tools", "model")
    .addConditionalEdges("model", ({ messages }) => {
      const last = messages.at(-1);
      const calls = last !== undefined && "tool_calls" in last ? last.tool_calls : [];
      return Array.isArray(calls) && calls.length > 0 ? "tools" : END;
    })
    .compile();
  const { messages } = await graph.invoke({ messages: [new HumanMessage(question)] });
  return messages.at(-1)?.text ?? "";
};

const aiSdk: Agent = async (prompt, { url, apiKey, model }) => {
  const { text } = await generateText({
    model: createOpenAICompatible({ name: "ludus", baseURL: url, apiKey })(model),
    prompt,
    stopWhen: isStepCount(4),
    tools: { find: tool({ description: "Finds", inputSchema: schema, execute: find }) },
  });
  return text;
};

test.each([
  { name: "LangGraph.js", agent: langGraph },
  { name: "the AI SDK", agent: aiSdk },
])("an agent on $name is scored and recorded, four attempts at once", async ({ agent }) => {
  const env = agentEnv<string>({
    name: "finder",
    tasks: listed(["Find user-7"]),
    limits: { turns: 4 },
    serve: { apiKey: "open sesame" },
    run: async (question, attempt) => {
      return (await outside(() => agent(question, attempt))) === "user-7 is found-7" ? 1 : 0;
    },
  });
  const model = findingModel();
  const group = { id: "g", seed: 1, size: 4, temperature: 0, retries: 0 };
  const { rollouts } = await runGroup(env, await env.tasks.at("train", 0), model, group);
  for (const { stop, failure, trajectories } of rollouts) {
    expect(failure).toBeUndefined();
    expect(stop).toBe("completed");
    expect(trajectories).toHaveLength(1);
    const [{ score, turns, tokens_T, mask_T }] = trajectories;
    expect(score.total).toBe(1);
    expect(turns.map(({ calls }) => calls.map(({ name, observation }) => [name, observation]))).toEqual([
      [["find", "found-7"]],
      [],
    ]);
    const said = turns.map(({ span }) => model.tokenizer.decode(tokens_T.slice(span.start, span.end)));
    expect(said).toEqual(turns.map(({ text }) => text));
    expect(mask_T.reduce((sum, mask) => sum + mask, 0)).toBe(
      turns.reduce((sum, { span }) => sum + span.end - span.start, 0),
    );
  }
});
