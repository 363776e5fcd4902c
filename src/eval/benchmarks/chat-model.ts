import { setTimeout as wait } from "node:timers/promises";
import { z } from "zod";
import { parseBoundedJson } from "../../bounded-json.ts";
import { boundedText } from "../../bounded-response.ts";
import { bounds } from "../../bounds.ts";
import { errorText, LudusError } from "../../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import { uniformAt } from "../../random.ts";
import { redact } from "../../redact.ts";
import { postChat } from "../../reward/judge/post-chat.ts";
import type { ChatReply, ChatRequest } from "./benchmark.ts";

export interface ChatModelOptions {
  /** OpenAI-compatible, up to and without `/chat/completions`. */
  endpoint: string;
  /** As the endpoint calls it. */
  model: string;
  apiKey?: string;
  temperature?: number;
  /** Tokens of one answer. */
  maxTokens?: number;
  timeoutMs?: number;
  /** After the first try: for rate limits, time-outs, errors of the server and answers that are no chat completions. */
  retries?: number;
  sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
}

const knownChatModelOptions: KnownOptions<ChatModelOptions> = {
  endpoint: true,
  model: true,
  apiKey: true,
  temperature: true,
  maxTokens: true,
  timeoutMs: true,
  retries: true,
  sleep: true,
};

export interface TokenUsage {
  readonly promptTokens: number;
  readonly completionTokens: number;
}

/** A model behind an endpoint. Each answer says what it took; `seed` makes attempts differ where the server knows seeds. */
export interface ChatModel {
  ask(request: ChatRequest, seed: number, signal: AbortSignal): Promise<ChatReply & TokenUsage>;
}

const firstWaitMs = 500;
const longestWaitMs = 60_000;

export function chatModel(options: ChatModelOptions): ChatModel {
  refuseUnknownOptions("chatModel", options, knownChatModelOptions);
  const { endpoint, model, apiKey, temperature = 0, maxTokens = 4_096, timeoutMs = 300_000, retries = 4 } = options;
  const sleep = options.sleep ?? (async (ms, signal) => void (await wait(ms, undefined, { signal })));
  const server = { endpoint, timeoutMs, now: () => performance.timeOrigin + performance.now() };
  const to = apiKey === undefined ? server : { ...server, apiKey };
  return {
    async ask({ messages, tools = [] }, seed, signal) {
      const functions = tools.map((spec) => ({ type: "function", function: spec }));
      const extra = functions.length === 0 ? {} : { tools: functions };
      const body = { model, messages, temperature, seed, max_tokens: maxTokens, ...extra };
      let why = "";
      for (let attempt = 0; attempt <= retries; attempt++) {
        const outcome = await postChat(to, body, signal);
        if (outcome.kind === "answered") return { text: outcome.text, calls: outcome.calls, ...outcome.usage };
        why = outcome.why;
        if (outcome.kind !== "busy" || attempt === retries) break;
        const waitMs = outcome.retryAfterMs ?? firstWaitMs * 2 ** attempt * (1 - uniformAt(seed, attempt) / 2);
        if (waitMs > longestWaitMs) break;
        await sleep(waitMs, signal);
      }
      throw new LudusError("model-failed", {
        got: `from ${model} at ${redact(endpoint)}: ${redact(why)}`,
        expected: `a chat completion${retries === 0 ? "" : ` within ${retries + 1} tries`}`,
        hint: "Is the server running, and does --model name its address up to and without /chat/completions?",
      });
    },
  };
}

const Models = z.object({ data: z.array(z.object({ id: z.string() })).min(1) });

/** The name of the only model of an endpoint; throws where it does not say, or has several. */
export async function onlyModel(endpoint: string, apiKey: string | undefined, signal: AbortSignal): Promise<string> {
  const url = `${endpoint.replace(/\/+$/, "")}/models`;
  const names = await modelNames(url, apiKey, signal);
  if (names.length === 1) return names[0];
  throw new LudusError("model-failed", {
    got: `${names.length} models of ${redact(endpoint)}: ${names.slice(0, 8).join(", ")}`,
    expected: "the name of one",
    hint: `Write it after the address: --model "${redact(endpoint)}#${names[0]}".`,
  });
}

async function modelNames(url: string, apiKey: string | undefined, signal: AbortSignal): Promise<readonly string[]> {
  try {
    const headers = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
    const response = await fetch(url, { headers, signal: AbortSignal.any([signal, AbortSignal.timeout(10_000)]) });
    const text = await boundedText(response, bounds.chatAnswerBytes);
    if (text === undefined) throw new Error(`an answer of more than ${bounds.chatAnswerBytes} bytes`);
    if (!response.ok) throw new Error(`status ${response.status}`);
    return Models.parse(parseBoundedJson(text)).data.map(({ id }) => id);
  } catch (cause) {
    signal.throwIfAborted();
    const inner = cause instanceof Error && cause.cause instanceof Error ? `: ${cause.cause.message}` : "";
    throw new LudusError("model-failed", {
      got: `from ${redact(url)}: ${errorText(cause).slice(0, 200)}${inner}`,
      expected: "the list of models of an OpenAI-compatible server",
      hint: 'Where the server has no such list, name the model: --model "http://127.0.0.1:8000/v1#name".',
      cause,
    });
  }
}
