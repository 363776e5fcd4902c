import OpenAI from "openai";
import { zodTextFormat } from "openai/helpers/zod";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { makeScore } from "../schema/index.ts";
import { type ModelServer, serveModel } from "./openai-server.ts";
import { scriptedModel } from "./testing/scripted-model.ts";

// OpenAI's own client, as it is, against /v1/responses and structured output: nothing is stubbed but the model's words.

const call = '<tool_call>\n{"name": "search", "arguments": {"query": "tea"}}\n</tool_call>';
let jsonAnswers: string[] = [];
const model = scriptedModel((read) => {
  if (read.includes("JSON")) return jsonAnswers[0];
  if (/green\s*$/.test(read)) return "It is green.";
  return read.includes("use the tool") ? `Let me look.\n${call}` : "Grüße 👋! How are you today?";
});
const tools: OpenAI.Responses.FunctionTool[] = [
  {
    type: "function",
    name: "search",
    description: "Finds",
    strict: false,
    parameters: { type: "object", properties: { query: { type: "string" } } },
  },
];

let server: ModelServer;
let openai: OpenAI;
beforeAll(async () => {
  server = await serveModel({ model, record: {}, apiKey: "none" });
  openai = new OpenAI({ baseURL: server.url, apiKey: "none", maxRetries: 0 });
});
afterAll(() => server.close());

describe("responses", () => {
  test("a text, with usage", async () => {
    const response = await openai.responses.create({ model: "tiny", input: "hello", temperature: 0 });
    expect(response.output_text).toBe("Grüße 👋! How are you today?");
    expect(response).toMatchObject({ object: "response", status: "completed", error: null, incomplete_details: null });
    const { input_tokens, output_tokens, total_tokens } = response.usage!;
    expect(total_tokens).toBe(input_tokens + output_tokens);
  });

  test("instructions are the system message", async () => {
    await openai.responses.create({ model: "tiny", instructions: "Be brief.", input: "hello", temperature: 0 });
    const prompt = model.tokenizer.decode(model.engine.samples.at(-1)!.tokens, { special: true });
    expect(prompt).toContain("Be brief.\nhello");
  });

  test("a call, its output, and the answer", async () => {
    const input: OpenAI.Responses.ResponseInput = [{ role: "user", content: "use the tool" }];
    const first = await openai.responses.create({ model: "tiny", input, tools, temperature: 0 });
    expect(first.output.map(({ type }) => type)).toEqual(["message", "function_call"]);
    const made = first.output.find((item) => item.type === "function_call")!;
    expect(made).toMatchObject({ name: "search", arguments: '{"query":"tea"}', status: "completed" });
    const output = { type: "function_call_output" as const, call_id: made.call_id, output: "green" };
    const next = await openai.responses.create({
      model: "tiny",
      input: [...input, ...(first.output as OpenAI.Responses.ResponseInput), output],
      tools,
      temperature: 0,
    });
    expect(next.output_text).toBe("It is green.");
  });

  test("streamed, the client's own accumulation is what comes unstreamed", async () => {
    const asked = { model: "tiny", input: "use the tool", tools, temperature: 0 };
    const whole = await openai.responses.create(asked);
    const events: string[] = [];
    const stream = openai.responses.stream(asked);
    for await (const { type } of stream) events.push(type);
    const streamed = await stream.finalResponse();
    const plain = ({ id: _, call_id: __, parsed_arguments: ___, ...item }: Record<string, unknown>) => item;
    const shown = (response: OpenAI.Responses.Response) =>
      response.output.map((item) =>
        JSON.parse(JSON.stringify(plain(item as never), (key, value) => (key === "parsed" ? undefined : value))),
      );
    expect(shown(streamed)).toEqual(shown(whole));
    expect(events.filter((type) => type === "response.output_text.delta").length).toBeGreaterThan(1);
    expect(events.slice(0, 2)).toEqual(["response.created", "response.in_progress"]);
    expect(events.at(-1)).toBe("response.completed");
  });

  test("an answer that was cut is incomplete", async () => {
    const asked = { model: "tiny", input: "hello", temperature: 0, max_output_tokens: 4 };
    const expected = { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } };
    expect(await openai.responses.create(asked)).toMatchObject(expected);
    expect(await openai.responses.stream(asked).finalResponse()).toMatchObject(expected);
  });

  test("what cannot be done is refused by name", async () => {
    const bad = { model: "tiny", input: "hello", previous_response_id: "resp_1" };
    await expect(openai.responses.create(bad)).rejects.toMatchObject({ status: 400, param: "previous_response_id" });
    await expect(openai.responses.create({ ...bad, previous_response_id: null, model: "other" })).rejects.toMatchObject(
      { status: 404 },
    );
  });

  test("recorded: both calls are one trajectory with the sampled tokens", async () => {
    const own = new OpenAI({
      baseURL: `${server.url.replace(/v1$/, "rollouts/r1/v1")}`,
      apiKey: "none",
      maxRetries: 0,
    });
    const input: OpenAI.Responses.ResponseInput = [{ role: "user", content: "use the tool" }];
    const first = await own.responses.create({ model: "tiny", input, tools, temperature: 0 });
    const { call_id } = first.output.find((item) => item.type === "function_call")!;
    const more = [
      ...(first.output as OpenAI.Responses.ResponseInput),
      { type: "function_call_output" as const, call_id, output: "green" },
    ];
    await own.responses.create({ model: "tiny", input: [...input, ...more], tools, temperature: 0 });
    const trajectories = server.rollouts!.end("r1", { score: makeScore({ outcome: 1 }), taskId: "t" });
    expect(trajectories).toHaveLength(1);
    expect(trajectories[0].turns.map(({ text }) => text)).toEqual([`Let me look.\n${call}`, "It is green."]);
  });
});

describe("answers that have to be JSON", () => {
  const Tea = z.object({ name: z.string(), grams: z.int() });
  const format = zodTextFormat(Tea, "tea");
  const good = '{"name": "sencha", "grams": 3}';
  const parse = () => openai.responses.parse({ model: "tiny", input: "which?", text: { format }, temperature: 0 });

  test("the model is told the schema, and the client parses what it says", async () => {
    jsonAnswers = [good];
    expect((await parse()).output_parsed).toEqual({ name: "sencha", grams: 3 });
    const prompt = model.tokenizer.decode(model.engine.samples.at(-1)!.tokens, { special: true });
    expect(prompt).toContain('"grams":{"type":"integer"');
  });

  test("chat completions ask for it in their own way", async () => {
    jsonAnswers = [good];
    const { schema, name } = format as { schema: Record<string, unknown>; name: string };
    const { choices } = await openai.chat.completions.create({
      model: "tiny",
      messages: [{ role: "user", content: "which?" }],
      response_format: { type: "json_schema", json_schema: { name, schema } },
      temperature: 0,
    });
    expect(choices[0].message.content).toBe(good);
  });

  test.each([
    ["no JSON", "sencha, 3 g"],
    ["another schema", '{"name": "sencha", "grams": "three"}'],
    ["a field too many", '{"name": "sencha", "grams": 3, "price": 1}'],
    ["text around it", `Here: ${good}`],
  ])("%s is sampled again, then refused with the problem", async (_, answer) => {
    jsonAnswers = [answer];
    const before = model.engine.samples.length;
    await expect(parse()).rejects.toMatchObject({ status: 422, code: "answer_not_json" });
    expect(model.engine.samples.length - before).toBe(4);
  });

  test("in a recorded rollout nothing is sampled again: the policy learns from what it said", async () => {
    jsonAnswers = ["sencha"];
    const own = new OpenAI({ baseURL: server.url.replace(/v1$/, "rollouts/r2/v1"), apiKey: "none", maxRetries: 0 });
    const before = model.engine.samples.length;
    const response = await own.responses.create({ model: "tiny", input: "which?", text: { format }, temperature: 0 });
    expect(response.output_text).toBe("sencha");
    expect(model.engine.samples.length - before).toBe(1);
  });

  test("a regular expression of a client is never run on the model's text", async () => {
    jsonAnswers = [`"${"a".repeat(60)}!"`];
    const evil = { type: "json_schema" as const, name: "evil", schema: { type: "string", pattern: "^(a+)+$" } };
    const response = await openai.responses.create({
      model: "tiny",
      input: "which?",
      text: { format: evil },
      temperature: 0,
    });
    expect(response.output_text).toBe(jsonAnswers[0]);
  });

  test("a schema that cannot be checked is refused", async () => {
    const odd = { type: "json_schema" as const, name: "odd", schema: { $ref: "https://example.org/schema.json" } };
    await expect(
      openai.responses.create({ model: "tiny", input: "which?", text: { format: odd } }),
    ).rejects.toMatchObject({ status: 400 });
  });
});
