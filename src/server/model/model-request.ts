import { createHash, randomBytes } from "node:crypto";
import type { Context } from "hono";
import type { z } from "zod";
import { LudusError } from "../../errors.ts";
import { readJson } from "../read-json.ts";
import {
  type AnswerOptions,
  answerTurn,
  checkRoom,
  forcedTokens,
  promptOf,
  type Reply,
  spokenTurn,
} from "./answer-turn.ts";
import type { ChatSampling, ChatTurn } from "./chat-turn.ts";
import type { RecordedRollouts } from "./recorded-rollouts.ts";
import type { ServedModel } from "./served-model.ts";

/** What routes of any protocol share. */
export interface ModelHandler {
  readonly model: ServedModel;
  readonly rollouts: RecordedRollouts | undefined;
  /** Where all calls belong to one rollout, whatever the client names. */
  readonly rollout?: string;
  /** Seconds since 1970. */
  readonly now: () => number;
  /** Requests that are being answered, and how many may be at once. */
  readonly load: { count: number; readonly most: number };
  /** Where somebody else than the client says how to sample so many answers. May throw, to answer no more. */
  readonly sampling?: (asked: ChatSampling, count: number) => ChatSampling;
  /** Where somebody else than the model speaks. */
  readonly words?: (turn: ChatTurn) => string;
  /** Is told of requests that are answered with an error. */
  readonly onError?: (error: unknown) => void;
}

/** The body, read with a schema; the first thing that does not fit is named. */
export async function readBody<Schema extends z.ZodType>(context: Context, schema: Schema): Promise<z.infer<Schema>> {
  const isJson = /^application\/json\b/i.test(context.req.header("content-type") ?? "");
  const body = isJson ? await readJson(context) : undefined;
  const read = schema.safeParse(body);
  if (read.success) return read.data;
  const issue = read.error.issues[0];
  const param = issue?.path.join(".") ?? "";
  const got =
    body === undefined
      ? "a body that is no JSON, or is nested too deep"
      : `${param === "" ? "a body" : `"${param}"`} that does not fit`;
  throw new LudusError("bad-request", { got, expected: issue?.message ?? "another", cause: param || undefined });
}

export function checkModel({ model }: ModelHandler, name: string): void {
  if (name === model.name) return;
  throw new LudusError("no-such-model", { got: `"${name}"`, expected: `"${model.name}"` });
}

/** Named in the address, or in a header; without a name a call is answered and forgotten. */
export function rolloutName({ rollout }: ModelHandler, context: Context): string | undefined {
  return rollout ?? context.req.param("rollout") ?? context.req.header("x-ludus-rollout");
}

export interface Answered {
  readonly promptTokens: number;
  readonly replies: readonly Reply[];
}

/**
 * One prompt, `count` answers, all of them recorded where a rollout is named. What is wrong with the request is thrown at once,
 * while a status can still say so; the answers come when the result is called, which must happen.
 */
export function accept(
  handler: ModelHandler,
  asked: ChatTurn,
  count: number,
  rollout: string | undefined,
): (options: Omit<AnswerOptions, "cache">) => Promise<Answered> {
  const { model, rollouts, load } = handler;
  const turn = handler.sampling === undefined ? asked : { ...asked, sampling: handler.sampling(asked.sampling, count) };
  const recorded = rollout === undefined ? undefined : rollouts?.open(rollout);
  const begun = recorded?.begin(turn) ?? { prompt: promptOf(model, turn), keep: () => {} };
  checkRoom(model, begun.prompt.length + forcedTokens(model, turn).length);
  if (load.count >= load.most) {
    throw new LudusError("too-many-requests", { got: "one more request", expected: `at most ${load.most} at once` });
  }
  load.count++;
  const caches = Array.from({ length: count }, () => `served-${randomBytes(8).toString("hex")}`);
  const say = async (cache: string, i: number, options: Omit<AnswerOptions, "cache">) => {
    if (handler.words !== undefined) return spokenTurn(model, turn, begun.prompt, handler.words(turn));
    const { seed } = turn.sampling;
    // what may not be said in the end is not told meanwhile
    const told = turn.json === undefined ? options : { ...options, onTold: undefined };
    let problem: string | undefined;
    for (let again = 0; again < jsonTries; again++) {
      const own = again === 0 ? (i === 0 ? seed : seedOf(seed, i)) : seedOf(seed, `${i} again ${again}`);
      const asked = { ...turn, sampling: { ...turn.sampling, seed: own } };
      const reply = await answerTurn(model, asked, begun.prompt, { ...told, cache });
      problem = reply.calls.length > 0 ? undefined : turn.json?.problem(reply.content);
      // a policy that is trained learns from what it said, so a recorded answer is never sampled again
      if (problem === undefined || recorded !== undefined) return reply;
    }
    throw new LudusError("answer-not-json", {
      got: `${jsonTries} answers, the last with this problem: ${problem}`,
      expected: "an answer of the requested format",
      hint: "Train the policy on it (recorded rollouts are answered as they are), or raise max_tokens.",
    });
  };
  return async (options) => {
    try {
      const replies = await Promise.all(caches.map((cache, i) => say(cache, i, options)));
      for (const reply of replies) begun.keep(reply);
      return { promptTokens: begun.prompt.length, replies };
    } finally {
      load.count--;
      for (const cache of caches) model.engine.release({ rollout: cache }).catch(() => {});
    }
  };
}

/** Is aborted when the client goes away, before the answer begins or in the middle of it. */
export function goneWith(stream: { onAbort(listener: () => void): void }, signal: AbortSignal): AbortSignal {
  const controller = new AbortController();
  const gone = () => controller.abort(new DOMException("The client has gone", "AbortError"));
  stream.onAbort(gone);
  if (signal.aborted) gone();
  signal.addEventListener("abort", gone, { once: true });
  return controller.signal;
}

export function randomSeed(): number {
  return randomBytes(4).readUInt32LE();
}

/** How often an answer is sampled that has to be JSON. */
const jsonTries = 4;

function seedOf(seed: number, index: number | string): number {
  return createHash("sha256").update(`${seed}/${index}`).digest().readUInt32LE();
}

export function newId(prefix: string): string {
  return `${prefix}${randomBytes(12).toString("base64url")}`;
}
