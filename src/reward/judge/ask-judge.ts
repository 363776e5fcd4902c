import { defined } from "../../defined.ts";
import { LudusError } from "../../errors.ts";
import { uniformAt } from "../../random.ts";
import type { JudgeBudget } from "./budget.ts";
import { type ChatEndpoint, type ChatOutcome, postChat } from "./post-chat.ts";
import { answerSchema, type Rubric } from "./rubric.ts";
import { parseVerdict } from "./verdict.ts";

/** How JSON is requested: by a JSON schema, by JSON mode, or by the prompt alone. Servers differ in what they support. */
const formats = ["schema", "json", "prompt"] as const;
export type AnswerFormat = (typeof formats)[number];

export interface AskOptions extends ChatEndpoint {
  readonly retries: number;
  /** The first backoff; each later one doubles, with random jitter of up to half. */
  readonly firstWaitMs: number;
  /** A server that asks for a longer wait is not retried. */
  readonly longestWaitMs: number;
  readonly budget: JudgeBudget;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

export interface Ask {
  readonly model: string;
  readonly messages: readonly { readonly role: "system" | "user"; readonly content: string }[];
  readonly rubric: Rubric;
  readonly temperature: number;
  readonly seed: number;
  readonly answerTokens: number;
}

/**
 * Retries until an answer can be parsed, and returns it verbatim. Answers that stay unparseable and servers that stay
 * unreachable are errors, never scores. `known` caches which format each model's server supports.
 */
export async function askJudge(
  ask: Ask,
  options: AskOptions,
  known: Map<string, AnswerFormat>,
  signal: AbortSignal,
): Promise<string> {
  let why = "";
  let unreadable = 0;
  for (let attempt = 0; attempt <= options.retries; attempt++) {
    const outcome = await postInKnownFormat(ask, unreadable, options, known, signal);
    if (outcome.kind === "answered") {
      const { text, isCutOff } = outcome;
      if (!isCutOff && parseVerdict(text, ask.rubric) !== undefined) return text;
      unreadable++;
      const what = isCutOff ? `an answer cut off at ${ask.answerTokens} tokens` : "an answer without a verdict";
      why = `${what}: ${JSON.stringify(text.slice(0, 200))}`;
      continue;
    }
    why = outcome.why;
    if (outcome.kind !== "busy") break;
    const waitMs = outcome.retryAfterMs ?? backOff(attempt, ask.seed, options.firstWaitMs);
    if (waitMs > options.longestWaitMs) break;
    if (attempt < options.retries) await options.sleep(waitMs, signal);
  }
  throw new LudusError(unreadable > 0 ? "judge-unreadable" : "judge-unavailable", {
    got: `from ${ask.model} at ${options.endpoint}: ${why}`,
    expected: `a verdict within ${options.retries + 1} tries`,
    hint: "The episode has no score. Check the endpoint, the model's name and the rubric.",
  });
}

/** Falls back to a less strict format where the server rejects the request, and remembers the one that worked. */
async function postInKnownFormat(
  ask: Ask,
  unreadable: number,
  options: AskOptions,
  known: Map<string, AnswerFormat>,
  signal: AbortSignal,
): Promise<ChatOutcome> {
  for (let index = formats.indexOf(known.get(ask.model) ?? "schema"); ; index++) {
    const format = formats[index];
    options.budget.spendCall();
    const outcome = await postChat(options, bodyOf(ask, format, unreadable), signal);
    if (outcome.kind === "answered") {
      options.budget.addTokens(outcome.tokens);
      known.set(ask.model, format);
    }
    if (outcome.kind !== "not-understood" || format === "prompt") return outcome;
  }
}

function bodyOf(
  { model, messages, rubric, temperature, seed, answerTokens }: Ask,
  format: AnswerFormat,
  unreadable: number,
) {
  const schema = { name: "verdict", strict: true, schema: answerSchema(rubric) };
  const formats = {
    schema: { type: "json_schema", json_schema: schema },
    json: { type: "json_object" },
    prompt: undefined,
  };
  return {
    model,
    messages,
    temperature,
    // the same seed would give the same unparseable answer
    seed: seed + 1000 * unreadable,
    max_tokens: answerTokens,
    ...defined({ response_format: formats[format] }),
  };
}

function backOff(attempt: number, seed: number, firstWaitMs: number): number {
  return firstWaitMs * 2 ** attempt * (1 - uniformAt(seed, attempt) / 2);
}
