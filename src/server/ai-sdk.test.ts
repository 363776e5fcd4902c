import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { generateText, isStepCount, Output, streamText, tool } from "ai";
import { expect, test } from "vitest";
import { z } from "zod";
import { embedded } from "../engine/embedded/embedded.ts";
import { models } from "../engine/model/model-config.ts";
import { byteTokenizer } from "../policy/byte-tokenizer.ts";
import { languageModel, ludus } from "./ai-sdk.ts";
import { scriptedModel } from "./testing/scripted-model.ts";

const call = '<tool_call>\n{"name": "search", "arguments": {"query": "tea"}}\n</tool_call>';
const scripted = scriptedModel((read) => {
  if (read.includes("JSON")) return '{"name": "sencha", "grams": 3}';
  if (/green\s*$/.test(read)) return "It is green.";
  return read.includes("use the tool") ? `Let me look.\n${call}` : "Grüße 👋! How are you today?";
});
const model = languageModel(scripted);
const greedy = { model, temperature: 0, maxRetries: 0 };
const search = tool({
  inputSchema: z.object({ query: z.string() }),
  execute: ({ query }) => (query === "tea" ? "green" : "?"),
});

test("generateText runs the AI SDK's own tool loop", async () => {
  const { text, steps } = await generateText({
    ...greedy,
    prompt: "use the tool",
    tools: { search },
    stopWhen: isStepCount(3),
  });
  expect(text).toBe("It is green.");
  expect(steps.map(({ finishReason }) => finishReason)).toEqual(["tool-calls", "stop"]);
  expect(steps[0].toolCalls[0]).toMatchObject({ toolName: "search", input: { query: "tea" } });
  expect(steps[0].text).toBe("Let me look.");
});

test("streamText tells text as it comes, then calls, and counts tokens", async () => {
  const result = streamText({ ...greedy, prompt: "use the tool", tools: { search }, stopWhen: isStepCount(3) });
  const types: string[] = [];
  for await (const part of result.stream) types.push(part.type);
  expect(types.filter((type) => type === "text-delta").length).toBeGreaterThan(2);
  expect(types.indexOf("tool-call")).toBeGreaterThan(types.indexOf("text-end"));
  expect(await result.text).toBe("It is green.");
  expect((await result.usage).outputTokens).toBeGreaterThan(5);
});

test("structured output", async () => {
  const schema = z.object({ name: z.string(), grams: z.int() });
  const { output } = await generateText({ ...greedy, prompt: "which?", output: Output.object({ schema }) });
  expect(output).toEqual({ name: "sencha", grams: 3 });
});

test("the end of an answer that was cut says so, and stop sequences are left out", async () => {
  expect((await generateText({ ...greedy, prompt: "hello", maxOutputTokens: 3 })).finishReason).toBe("length");
  expect((await generateText({ ...greedy, prompt: "hello", stopSequences: ["How"] })).text).toBe("Grüße 👋! ");
});

test("an abort ends the sampling; what is wrong is an error of the stream", async () => {
  const controller = new AbortController();
  controller.abort();
  await expect(generateText({ ...greedy, prompt: "hello", abortSignal: controller.signal })).rejects.toThrow();
  const long = streamText({ ...greedy, prompt: "x".repeat(5_000), onError: () => {} });
  const errors: unknown[] = [];
  for await (const part of long.stream) if (part.type === "error") errors.push(part.error);
  expect(String(errors[0])).toContain("context-too-long");
});

test("ludus(folder) loads a model's folder and closes it", async () => {
  const folder = await mkdtemp(join(tmpdir(), "ludus-ai-sdk-"));
  try {
    const tokenizer = byteTokenizer();
    const config = models.tiny({ vocabularySize: tokenizer.vocabularySize });
    const engine = await embedded({ model: config, tokenizer, seed: 1 });
    await engine.save(join(folder, "model"));
    await engine.close();
    const loaded = await ludus(join(folder, "model"));
    const { usage } = await generateText({ model: loaded, prompt: "hello", maxOutputTokens: 4, seed: 1 });
    expect(loaded.modelId).toBe("model");
    expect(usage.outputTokens).toBeGreaterThan(0);
    await loaded.close();
    await expect(ludus(join(folder, "nothing"))).rejects.toMatchObject({ code: "no-checkpoint" });
  } finally {
    await rm(folder, { recursive: true });
  }
});
