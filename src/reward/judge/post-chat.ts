import { z } from "zod";
import { parseBoundedJson } from "../../bounded-json.ts";
import { boundedText } from "../../bounded-response.ts";
import { bounds } from "../../bounds.ts";
import { defined } from "../../defined.ts";

export interface ChatEndpoint {
  /** Up to and without `/chat/completions`: `http://127.0.0.1:8000/v1`. */
  readonly endpoint: string;
  readonly apiKey?: string;
  readonly timeoutMs: number;
  /** Wall clock in milliseconds, for a `Retry-After` that is a date. */
  readonly now: () => number;
}

/** As the server counts them; about four characters a token where it does not. */
export interface ChatUsage {
  readonly promptTokens: number;
  readonly completionTokens: number;
}

/** A tool call of an answer; arguments as they were written. */
export interface ChatCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

/** The outcome of one call. */
export type ChatOutcome =
  | {
      readonly kind: "answered";
      readonly text: string;
      readonly isCutOff: boolean;
      readonly tokens: number;
      readonly usage: ChatUsage;
      readonly calls: readonly ChatCall[];
    }
  /** Can be retried. */
  | { readonly kind: "busy"; readonly why: string; readonly retryAfterMs?: number }
  /** The server rejected the request, perhaps because of its `response_format`. */
  | { readonly kind: "not-understood"; readonly why: string }
  | { readonly kind: "refused"; readonly why: string };

const Call = z.object({ id: z.string().nullish(), function: z.object({ name: z.string(), arguments: z.string() }) });
const Message = z.object({ content: z.string().nullish(), tool_calls: z.array(Call).nullish() });
const Answer = z.object({
  choices: z.array(z.object({ message: Message, finish_reason: z.string().nullish() })).min(1),
  usage: z
    .object({
      total_tokens: z.number(),
      prompt_tokens: z.number().nullish(),
      completion_tokens: z.number().nullish(),
    })
    .nullish(),
});

/** One POST to an OpenAI-compatible chat-completions endpoint. Throws only where `signal` is aborted. */
export async function postChat(
  { endpoint, apiKey, timeoutMs, now }: ChatEndpoint,
  body: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<ChatOutcome> {
  const request = JSON.stringify(body);
  try {
    const response = await fetch(`${endpoint.replace(/\/+$/, "")}/chat/completions`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        ...defined({ authorization: apiKey === undefined ? undefined : `Bearer ${apiKey}` }),
      },
      body: request,
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    });
    const text = await boundedText(response, bounds.chatAnswerBytes);
    if (text === undefined) return { kind: "refused", why: `an answer of more than ${bounds.chatAnswerBytes} bytes` };
    return response.ok ? answerOf(text, request) : failureOf(response, text, now);
  } catch (error) {
    signal.throwIfAborted();
    return { kind: "busy", why: describeFailure(error, timeoutMs) };
  }
}

function answerOf(text: string, request: string): ChatOutcome {
  const parsed = Answer.safeParse(parseBody(text));
  if (!parsed.success) return { kind: "busy", why: `an answer that is no chat completion: ${shorten(text)}` };
  const { message, finish_reason: reason } = parsed.data.choices[0];
  const content = message.content ?? "";
  const { usage } = parsed.data;
  const promptTokens = usage?.prompt_tokens ?? Math.ceil(request.length / 4);
  const completionTokens = usage?.completion_tokens ?? Math.ceil(content.length / 4);
  return {
    kind: "answered",
    text: content,
    isCutOff: reason === "length",
    tokens: usage?.total_tokens ?? promptTokens + completionTokens,
    usage: { promptTokens, completionTokens },
    calls: (message.tool_calls ?? []).map(({ id, function: called }, index) => ({
      id: id ?? `call-${index}`,
      ...called,
    })),
  };
}

function failureOf(response: Response, text: string, now: () => number): ChatOutcome {
  const why = `status ${response.status}: ${shorten(text)}`;
  if (response.status === 400 || response.status === 422) return { kind: "not-understood", why };
  if (response.status < 500 && ![408, 409, 425, 429].includes(response.status)) return { kind: "refused", why };
  const retryAfterMs = readRetryAfter(response.headers.get("retry-after"), now);
  return { kind: "busy", why, ...defined({ retryAfterMs }) };
}

/** Seconds, or a date. */
function readRetryAfter(value: string | null, now: () => number): number | undefined {
  if (value === null) return undefined;
  const ms = /^\d+(\.\d+)?$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

function parseBody(text: string): unknown {
  try {
    return parseBoundedJson(text);
  } catch {
    return undefined;
  }
}

function describeFailure(error: unknown, timeoutMs: number): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === "TimeoutError") return `no answer within ${timeoutMs} ms`;
  // "fetch failed" alone says nothing
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}

function shorten(text: string): string {
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}...` : text);
}
