import { Hono } from "hono";
import { streamSSE } from "hono/streaming";
import { tokenTexts } from "../dashboard/token-texts.ts";
import type { Reply } from "./answer-turn.ts";
import { httpError, openAiError } from "./http-error.ts";
import {
  type Answered,
  answer,
  checkModel,
  type ModelDesk,
  newId,
  randomSeed,
  readBody,
  rolloutName,
} from "./model-request.ts";
import { ChatCompletionBody, turnOfOpenAi } from "./openai-request.ts";
import type { ServedModel } from "./served-model.ts";

/** `/models` and `/chat/completions`, as OpenAI's clients know them. */
export function openAiRoutes(desk: ModelDesk): Hono {
  const routes = new Hono();
  const { model } = desk;
  const about = () => ({ id: model.name, object: "model", created: 0, owned_by: "ludus" });
  routes.get("/models", (context) => context.json({ object: "list", data: [about()] }));
  routes.get("/models/:model", (context) => {
    checkModel(desk, context.req.param("model"));
    return context.json(about());
  });
  routes.post("/chat/completions", async (context) => {
    const body = await readBody(context, ChatCompletionBody);
    checkModel(desk, body.model);
    const turn = turnOfOpenAi(body, randomSeed());
    const [rollout, head] = [rolloutName(context), headOf(desk)];
    const { signal } = context.req.raw;
    const count = body.n ?? 1;
    if (!body.stream) {
      const answered = await answer(desk, turn, count, rollout, { signal });
      return context.json(completion(model, body, head, answered));
    }
    return streamSSE(context, async (stream) => {
      const chunk = (choices: unknown[], more: object = {}) =>
        stream.writeSSE({ data: JSON.stringify({ ...head, object: "chat.completion.chunk", choices, ...more }) });
      try {
        for (let index = 0; index < count; index++) await chunk([choice(index, { role: "assistant", content: "" })]);
        // calls are known at the end only, and several answers would need telling apart
        const teller =
          turn.tools.length === 0 && count === 1 ? new Teller((content) => chunk([choice(0, { content })])) : undefined;
        const answered = await answer(desk, turn, count, rollout, { signal, onText: teller?.hear });
        for (const [index, reply] of answered.replies.entries()) {
          const rest = reply.content.slice(teller?.told ?? 0);
          const logprobs = body.logprobs ? { logprobs: logprobsOf(model, reply) } : {};
          if (rest !== "" || body.logprobs) await chunk([{ ...choice(index, { content: rest }), ...logprobs }]);
          const calls = callsOf(reply).map((call, at) => ({ index: at, ...call }));
          if (calls.length > 0) await chunk([choice(index, { tool_calls: calls })]);
          await chunk([{ ...choice(index, {}), finish_reason: finishOf(reply) }]);
        }
        if (body.stream_options?.include_usage) await chunk([], { usage: usageOf(answered) });
        await stream.writeSSE({ data: "[DONE]" });
      } catch (error) {
        await stream.writeSSE({ data: JSON.stringify(openAiError(httpError(error))) });
      }
    });
  });
  return routes;
}

/** Tells the new part of a text that grows. */
export class Teller {
  told = 0;
  readonly #tell: (part: string) => Promise<void>;

  constructor(tell: (part: string) => Promise<void>) {
    this.#tell = tell;
  }

  readonly hear = async (text: string): Promise<void> => {
    if (text.length <= this.told) return;
    const part = text.slice(this.told);
    this.told = text.length;
    await this.#tell(part);
  };
}

function choice(index: number, delta: object) {
  return { index, delta, finish_reason: null as string | null };
}

function headOf({ model, now }: ModelDesk) {
  return { id: newId("chatcmpl-"), created: Math.floor(now()), model: model.name };
}

function completion(model: ServedModel, body: ChatCompletionBody, head: object, answered: Answered) {
  const choices = answered.replies.map((reply, index) => {
    const calls = callsOf(reply);
    return {
      index,
      message: {
        role: "assistant",
        content: calls.length > 0 && reply.content === "" ? null : reply.content,
        refusal: null,
        ...(reply.thought === undefined ? {} : { reasoning_content: reply.thought }),
        ...(calls.length === 0 ? {} : { tool_calls: calls }),
      },
      logprobs: body.logprobs ? logprobsOf(model, reply) : null,
      finish_reason: finishOf(reply),
    };
  });
  return { ...head, object: "chat.completion", choices, usage: usageOf(answered) };
}

function callsOf({ calls }: Reply) {
  return calls.map((call) => ({
    ...{ id: newId("call_"), type: "function" },
    function: { name: call.name, arguments: JSON.stringify(call.arguments) },
  }));
}

function finishOf({ finish }: Reply): string {
  return finish === "calls" ? "tool_calls" : finish;
}

function usageOf({ promptTokens, replies }: Answered) {
  const completionTokens = replies.reduce((sum, { tokens }) => sum + tokens.length, 0);
  return {
    ...{ prompt_tokens: promptTokens, completion_tokens: completionTokens },
    total_tokens: promptTokens + completionTokens,
  };
}

function logprobsOf({ tokenizer }: ServedModel, { tokens, logprobs, alternatives, ended }: Reply) {
  const about = (id: number, token: string, logprob: number) => {
    return { token, logprob: Math.max(logprob, -9999), bytes: Array.from(tokenizer.tokenBytes(id)) };
  };
  const texts = tokenTexts(tokenizer, tokens);
  const count = alternatives?.count ?? 0;
  const shown = Array.from(tokens).slice(0, ended ? -1 : undefined);
  const content = shown.map((id, t) => ({
    ...about(id, texts[t]!, logprobs[t]!),
    top_logprobs: Array.from({ length: count }, (_, k) => {
      const other = alternatives!.tokens[t * count + k]!;
      return about(other, tokenTexts(tokenizer, [other])[0]!, alternatives!.logprobs[t * count + k]!);
    }),
  }));
  return { content, refusal: null };
}
