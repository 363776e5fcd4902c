import { type Context, Hono } from "hono";
import { streamSSE } from "hono/streaming";
import { defined } from "../../defined.ts";
import { LudusError } from "../../errors.ts";
import type { ToolCall } from "../../schema/message.ts";
import { tokenTexts } from "../dashboard/token-texts.ts";
import type { Reply } from "./answer-turn.ts";
import { GenerateContentBody, turnOfGemini } from "./gemini-request.ts";
import { geminiError, httpError } from "./http-error.ts";
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
import type { ServedModel } from "./served-model.ts";
import { Teller } from "./teller.ts";

/** `/models/<model>:generateContent` and `:streamGenerateContent`, as Google's clients know them. */
export function geminiRoutes(handler: ModelHandler): Hono {
  const routes = new Hono();
  routes.post("/models/:target{.+}", async (context) => {
    const target = context.req.param("target");
    const end = target.lastIndexOf(":");
    const method = target.slice(end + 1);
    if (end < 0 || (method !== "generateContent" && method !== "streamGenerateContent")) {
      const expected = "generateContent or streamGenerateContent of a model";
      throw new LudusError("no-such-path", { got: `POST ${context.req.path}`, expected });
    }
    const body = await readBody(context, GenerateContentBody);
    checkModel(handler, target.slice(0, end));
    const turn = turnOfGemini(body, randomSeed());
    const count = body.generationConfig?.candidateCount ?? 1;
    const respond = accept(handler, turn, count, rolloutName(handler, context));
    const call: GeminiCall = { model: handler.model, body, head: headOf(handler), count, respond };
    return method === "generateContent" ? whole(context, call) : streamed(context, call);
  });
  return routes;
}

interface GeminiCall {
  readonly model: ServedModel;
  readonly body: GenerateContentBody;
  readonly head: ReturnType<typeof headOf>;
  readonly count: number;
  readonly respond: ReturnType<typeof accept>;
}

type Send = (chunk: object) => Promise<void>;

async function whole(context: Context, { model, body, head, respond }: GeminiCall): Promise<Response> {
  const answered = await respond({ signal: context.req.raw.signal });
  const candidates = answered.replies.map((reply, index) => ({
    ...candidate(index, partsOf(reply)),
    ...endOf(model, body, reply),
  }));
  return context.json({ candidates, ...head, usageMetadata: usageOf(answered) });
}

/** Events where the client asks for them; else one array, which Google's server sends without `alt=sse`. */
async function streamed(context: Context, call: GeminiCall): Promise<Response> {
  const { signal } = context.req.raw;
  if (context.req.query("alt") !== "sse") {
    const chunks: object[] = [];
    await streamChunks(async (chunk) => void chunks.push(chunk), call, signal);
    return context.json(chunks);
  }
  return streamSSE(context, async (stream) => {
    const send: Send = (chunk) => stream.writeSSE({ data: JSON.stringify(chunk) });
    try {
      await streamChunks(send, call, goneWith(stream, signal));
    } catch (error) {
      await send(geminiError(httpError(error)));
    }
  });
}

async function streamChunks(
  send: Send,
  { model, body, head, count, respond }: GeminiCall,
  signal: AbortSignal,
): Promise<void> {
  const tellers = Array.from({ length: count }, (_, index) => {
    const tell = (part: object) => send({ candidates: [candidate(index, [part])], ...head });
    return new Teller({ text: (text) => tell({ text }), call: (call) => tell(callPart(call)) });
  });
  // several answers are told one after the other
  const answered = await respond({ signal, onTold: count === 1 ? tellers[0].hear : undefined });
  for (const [index, reply] of answered.replies.entries()) {
    await tellers[index].hear(reply);
    const last = { ...candidate(index, [{ text: "" }]), ...endOf(model, body, reply) };
    await send({ candidates: [last], ...head, usageMetadata: usageOf(answered) });
  }
}

function headOf({ model }: ModelHandler) {
  return { modelVersion: model.name, responseId: newId("") };
}

function candidate(index: number, parts: readonly object[]) {
  return { index, content: { role: "model", parts } };
}

function callPart({ name, arguments: args }: ToolCall) {
  return { functionCall: { id: newId("call_"), name, args } };
}

function partsOf({ content, calls }: Reply): object[] {
  const called = calls.map(callPart);
  return content === "" && called.length > 0 ? called : [{ text: content }, ...called];
}

function endOf(model: ServedModel, { generationConfig }: GenerateContentBody, reply: Reply) {
  const logprobsResult = generationConfig?.responseLogprobs ? logprobsOf(model, reply) : undefined;
  return { finishReason: reply.finish === "length" ? "MAX_TOKENS" : "STOP", ...defined({ logprobsResult }) };
}

function usageOf({ promptTokens, replies }: Answered) {
  const candidatesTokenCount = replies.reduce((sum, { tokens }) => sum + tokens.length, 0);
  return {
    promptTokenCount: promptTokens,
    candidatesTokenCount,
    totalTokenCount: promptTokens + candidatesTokenCount,
  };
}

function logprobsOf({ tokenizer }: ServedModel, { tokens, forced, logprobs, alternatives, ended }: Reply) {
  const about = (tokenId: number, token: string, logprob: number) => {
    return { token, tokenId, logProbability: Math.max(logprob, -9999) };
  };
  const sampled = tokens.subarray(forced);
  const texts = tokenTexts(tokenizer, sampled);
  const shown = Array.from(sampled).slice(0, ended ? -1 : undefined);
  const count = alternatives?.count ?? 0;
  const topCandidates = shown.map((_, t) => ({
    candidates: Array.from({ length: count }, (_, k) => {
      const other = alternatives!.tokens[t * count + k];
      return about(other, tokenTexts(tokenizer, [other])[0], alternatives!.logprobs[t * count + k]);
    }),
  }));
  return {
    chosenCandidates: shown.map((id, t) => about(id, texts[t], logprobs[t])),
    ...(count === 0 ? {} : { topCandidates }),
  };
}
