import type { Alternatives, SampleStop } from "../../engine/engine.ts";
import { StopStringMatcher } from "../../engine/stop-strings.ts";
import { LudusError } from "../../errors.ts";
import { joinTokens } from "../../policy/join-tokens.ts";
import type { Message } from "../../schema/message.ts";
import type { ChatTurn, Told } from "./chat-turn.ts";
import type { ServedModel } from "./served-model.ts";

/** What the model said, as tokens and as it is told to the client. */
export interface Reply extends Told {
  readonly tokens: Int32Array;
  readonly logprobs: Float32Array;
  readonly versions: Int32Array;
  readonly alternatives: Alternatives | undefined;
  /** Whether it ended its turn itself. */
  readonly ended: boolean;
  readonly text: string;
  readonly thought: string | undefined;
  readonly finish: "stop" | "length" | "calls";
}

export interface AnswerOptions {
  readonly signal: AbortSignal;
  /** Names a cache in the engine. */
  readonly cache?: string | undefined;
  /** Is told what can already be told; then sampling goes in small slices, with the same result. */
  readonly onText?: ((text: string) => Promise<void>) | undefined;
}

/** All messages as tokens, up to where the model speaks. */
export function promptOf({ renderer, format }: ServedModel, { messages, tools }: ChatTurn): Int32Array {
  const instructions = tools.length === 0 ? "" : format.describe(tools);
  const written = messages.map((message) => inOwnWords(message, format, tools));
  if (instructions === "") return renderer.start(written, tools);
  const [first, ...rest] = written;
  const isSystem = first?.role === "system";
  const content = isSystem ? `${first.content}\n\n${instructions}` : instructions;
  return renderer.start([{ role: "system", content }, ...(isSystem ? rest : written)], []);
}

/** Calls an assistant made are written as the model writes them, whatever the template would do. */
function inOwnWords(message: Message, format: ServedModel["format"], tools: ChatTurn["tools"]): Message {
  const { calls = [], ...rest } = message;
  if (calls.length === 0) return rest;
  const answer = rest.content === "" ? {} : { answer: rest.content };
  return { ...rest, content: format.write({ calls, ...answer }, tools) };
}

const sliceTokens = 8;

/** Samples one answer to a prompt. */
export async function answerTurn(
  model: ServedModel,
  turn: ChatTurn,
  prompt: Int32Array,
  options: AnswerOptions,
): Promise<Reply> {
  const { engine, renderer } = model;
  const room = engine.info.contextLength - prompt.length;
  if (room <= 0) {
    throw new LudusError("context-too-long", {
      got: `${prompt.length} tokens of messages`,
      expected: `fewer than ${engine.info.contextLength}, the context of ${model.name}`,
    });
  }
  const said = await sampleAll(model, turn, prompt, room, options);
  const text = renderer.read(said.tokens);
  const isLong = said.stop === "max-tokens" || said.stop === "context-full";
  const heard = turn.tools.length === 0 ? undefined : model.format.parse(text, turn.tools);
  const calls = (heard?.calls ?? []).flatMap(({ kind, ...call }) => (kind === "call" && "name" in call ? [call] : []));
  const isBroken = heard?.calls.some(({ kind }) => kind === "malformed") ?? false;
  const content = heard === undefined || isBroken ? beforeStop(text, turn.sampling.stop) : heard.answer;
  return {
    ...{ text, content, calls, thought: heard?.thought, ended: said.stop === "stop-token" },
    ...{ tokens: said.tokens, logprobs: said.logprobs, versions: said.versions, alternatives: said.alternatives },
    finish: calls.length > 0 ? "calls" : isLong ? "length" : "stop",
  };
}

interface Said {
  readonly tokens: Int32Array;
  readonly logprobs: Float32Array;
  readonly versions: Int32Array;
  readonly alternatives: Alternatives | undefined;
  readonly stop: SampleStop;
}

async function sampleAll(
  model: ServedModel,
  { sampling, tools }: ChatTurn,
  prompt: Int32Array,
  room: number,
  { signal, cache, onText }: AnswerOptions,
): Promise<Said> {
  const { engine, renderer, tokenizer, format } = model;
  const limit = Math.min(sampling.maxTokens ?? model.maxTokens ?? room, room);
  const stops = [...sampling.stop, ...(tools.length === 0 ? [] : format.stopStrings)];
  const matcher = new StopStringMatcher(stops, (token) => tokenizer.tokenBytes(token));
  const slices: Said[] = [];
  const joined = () => joinSaid(slices);
  for (let count = 0; count < limit; ) {
    const tokens = joinTokens(prompt, ...slices.map((slice) => slice.tokens));
    const sample = await engine.sample(
      {
        ...{ tokens, seed: sampling.seed, temperature: sampling.temperature, stopTokens: renderer.stopTokens },
        // with stop strings too: they are looked for here, over the borders of slices
        maxTokens: Math.min(limit - count, onText === undefined && stops.length === 0 ? limit : sliceTokens),
        ...(sampling.topP === undefined ? {} : { topP: sampling.topP }),
        ...(sampling.alternatives === 0 ? {} : { alternatives: sampling.alternatives }),
        ...(cache === undefined ? {} : { rollout: cache }),
      },
      signal,
    );
    const end = stops.length === 0 ? -1 : sample.tokens.findIndex((token) => matcher.push(token));
    const stopped = end >= 0 && !(sample.stop === "stop-token" && end === sample.tokens.length - 1);
    slices.push(firstOf(sample, stopped ? end + 1 : sample.tokens.length, stopped ? "stop-string" : sample.stop));
    count += slices.at(-1)!.tokens.length;
    await onText?.(tellable(renderer.read(joined().tokens), sampling.stop));
    if (slices.at(-1)!.stop !== "max-tokens") break;
  }
  return joined();
}

function firstOf(
  sample: Omit<Said, "alternatives"> & { readonly alternatives?: Alternatives },
  n: number,
  stop: SampleStop,
): Said {
  const { alternatives } = sample;
  const count = alternatives?.count ?? 0;
  return {
    ...{
      tokens: sample.tokens.slice(0, n),
      logprobs: sample.logprobs.slice(0, n),
      versions: sample.versions.slice(0, n),
    },
    stop,
    alternatives:
      alternatives === undefined
        ? undefined
        : {
            count,
            tokens: alternatives.tokens.slice(0, n * count),
            logprobs: alternatives.logprobs.slice(0, n * count),
          },
  };
}

function joinSaid(slices: readonly Said[]): Said {
  const floats = (parts: readonly Float32Array[]) => Float32Array.from(parts.flatMap((part) => [...part]));
  const alternatives = slices.flatMap((slice) => slice.alternatives ?? []);
  return {
    tokens: joinTokens(...slices.map(({ tokens }) => tokens)),
    logprobs: floats(slices.map(({ logprobs }) => logprobs)),
    versions: joinTokens(...slices.map(({ versions }) => versions)),
    stop: slices.at(-1)?.stop ?? "max-tokens",
    alternatives:
      alternatives.length === 0
        ? undefined
        : {
            count: alternatives[0]!.count,
            tokens: joinTokens(...alternatives.map(({ tokens }) => tokens)),
            logprobs: floats(alternatives.map(({ logprobs }) => logprobs)),
          },
  };
}

/** Without a stop string and what follows it. */
function beforeStop(text: string, stops: readonly string[]): string {
  const places = stops.map((stop) => text.indexOf(stop)).filter((place) => place >= 0);
  return places.length === 0 ? text : text.slice(0, Math.min(...places));
}

/** What will not be taken back: no half character, no beginning of a stop string. */
function tellable(text: string, stops: readonly string[]): string {
  const known = beforeStop(text, stops);
  if (known.length < text.length) return known;
  const whole = text.replace(/\ufffd+$/, "");
  const longest = Math.max(0, ...stops.map((stop) => stop.length - 1));
  for (let length = Math.min(longest, whole.length); length > 0; length--) {
    const end = whole.slice(-length);
    if (stops.some((stop) => stop.startsWith(end))) return whole.slice(0, -length);
  }
  return whole;
}
