import { Hono } from "hono";
import { type SSEStreamingApi, streamSSE } from "hono/streaming";
import { defined } from "../../defined.ts";
import type { ToolCall } from "../../schema/message.ts";
import { tokenTexts } from "../dashboard/token-texts.ts";
import type { Reply } from "./answer-turn.ts";
import { httpError, openAiError } from "./http-error.ts";
import {
  type Answered,
  accept,
  checkModel,
  goneWith,
  type ModelHandler,
  newId,
  randomSeed,
  readBody,
  rolloutName,
} from "./model-request.ts";
import { ChatCompletionBody, turnOfOpenAi } from "./openai-request.ts";
import type { ServedModel } from "./served-model.ts";
import { Teller } from "./teller.ts";

/** `/models` and `/chat/completions`, as OpenAI's clients know them. */
export function openAiRoutes(handler: ModelHandler): Hono {
  const routes = new Hono();
  const { model } = handler;
  const about = () => ({ id: model.name, object: "model", created: 0, owned_by: "ludus" });
  routes.get("/models", (context) => context.json({ object: "list", data: [about()] }));
  routes.get("/models/:model", (context) => {
    checkModel(handler, context.req.param("model"));
    return context.json(about());
  });
  routes.post("/chat/completions", async (context) => {
    const body = await readBody(context, ChatCompletionBody);
    checkModel(handler, body.model);
    const turn = turnOfOpenAi(body, randomSeed());
    const head = headOf(handler);
    const respond = accept(handler, turn, body.n ?? 1, rolloutName(handler, context));
    const { signal } = context.req.raw;
    if (!body.stream) return context.json(completion(model, body, head, await respond({ signal })));
    return streamSSE(context, async (stream) => {
      try {
        await streamCompletion(stream, model, body, head, respond, goneWith(stream, signal));
      } catch (error) {
        await stream.writeSSE({ data: JSON.stringify(openAiError(httpError(error))) });
      }
    });
  });
  return routes;
}

async function streamCompletion(
  stream: SSEStreamingApi,
  model: ServedModel,
  body: ChatCompletionBody,
  head: object,
  respond: ReturnType<typeof accept>,
  signal: AbortSignal,
): Promise<void> {
  const count = body.n ?? 1;
  const chunk = (choices: unknown[], more: object = {}) =>
    stream.writeSSE({ data: JSON.stringify({ ...head, object: "chat.completion.chunk", choices, ...more }) });
  for (let index = 0; index < count; index++) await chunk([choice(index, { role: "assistant", content: "" })]);
  const tellers = Array.from({ length: count }, (_, index) => {
    return new Teller({
      text: (content) => chunk([choice(index, { content })]),
      call: (call, at) => chunk([choice(index, { tool_calls: [{ index: at, ...callOf(call) }] })]),
    });
  });
  // several answers are told one after the other
  const answered = await respond({ signal, onTold: count === 1 ? tellers[0].hear : undefined });
  for (const [index, reply] of answered.replies.entries()) {
    await tellers[index].hear(reply);
    const logprobs = body.logprobs ? { logprobs: logprobsOf(model, reply) } : {};
    await chunk([{ ...choice(index, {}), ...logprobs, finish_reason: finishOf(reply) }]);
  }
  if (body.stream_options?.include_usage) await chunk([], { usage: usageOf(answered) });
  await stream.writeSSE({ data: "[DONE]" });
}

function choice(index: number, delta: object) {
  return { index, delta, finish_reason: null as string | null };
}

function headOf({ model, now }: ModelHandler) {
  return { id: newId("chatcmpl-"), created: Math.floor(now()), model: model.name };
}

function completion(model: ServedModel, body: ChatCompletionBody, head: object, answered: Answered) {
  const choices = answered.replies.map((reply, index) => {
    const calls = reply.calls.map(callOf);
    return {
      index,
      message: {
        role: "assistant",
        content: calls.length > 0 && reply.content === "" ? null : reply.content,
        refusal: null,
        ...defined({ reasoning_content: reply.thought, tool_calls: calls.length === 0 ? undefined : calls }),
      },
      logprobs: body.logprobs ? logprobsOf(model, reply) : null,
      finish_reason: finishOf(reply),
    };
  });
  return { ...head, object: "chat.completion", choices, usage: usageOf(answered) };
}

function callOf({ name, arguments: given }: ToolCall) {
  return { id: newId("call_"), type: "function", function: { name, arguments: JSON.stringify(given) } };
}

function finishOf({ finish }: Reply): string {
  return finish === "calls" ? "tool_calls" : finish;
}

function usageOf({ promptTokens, replies }: Answered) {
  const completionTokens = replies.reduce((sum, { tokens }) => sum + tokens.length, 0);
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
  };
}

function logprobsOf({ tokenizer }: ServedModel, { tokens, forced, logprobs, alternatives, ended }: Reply) {
  const about = (id: number, token: string, logprob: number) => {
    return { token, logprob: Math.max(logprob, -9999), bytes: Array.from(tokenizer.tokenBytes(id)) };
  };
  const sampled = tokens.subarray(forced);
  const texts = tokenTexts(tokenizer, sampled);
  const count = alternatives?.count ?? 0;
  const shown = Array.from(sampled).slice(0, ended ? -1 : undefined);
  const content = shown.map((id, t) => ({
    ...about(id, texts[t], logprobs[t]),
    top_logprobs: Array.from({ length: count }, (_, k) => {
      const other = alternatives!.tokens[t * count + k];
      return about(other, tokenTexts(tokenizer, [other])[0], alternatives!.logprobs[t * count + k]);
    }),
  }));
  return { content, refusal: null };
}
