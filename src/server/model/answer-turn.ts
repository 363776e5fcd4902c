import type { Alternatives } from "../../engine/engine.ts";
import { LudusError } from "../../errors.ts";
import type { Said } from "../../policy/call-format.ts";
import { joinTokens } from "../../policy/join-tokens.ts";
import type { Message, ToolCall } from "../../schema/message.ts";
import type { ChatTurn, Told } from "./chat-turn.ts";
import { describeJsonAnswer } from "./json-answer.ts";
import { type SampleAnswerOptions, type Sampled, sampleAnswer } from "./sample-answer.ts";
import type { ServedModel } from "./served-model.ts";
import { type SettledReader, settledReader, settledText } from "./settled-text.ts";

/** What the model said, as tokens and as it is told to the client. */
export interface Reply extends Told {
  /** The first `forced` of them were given to it, not sampled: there is nothing to learn from them. */
  readonly tokens: Int32Array;
  readonly forced: number;
  /** Of those that were sampled, as are versions and alternatives. */
  readonly logprobs: Float32Array;
  /** Of the distribution that was sampled from: other than `logprobs` where top-p or top-k cut. */
  readonly behaviourLogprobs: Float32Array;
  readonly versions: Int32Array;
  readonly alternatives: Alternatives | undefined;
  /** Whether it ended its turn itself. */
  readonly ended: boolean;
  readonly text: string;
  readonly thought: string | undefined;
  readonly finish: "stop" | "length" | "calls";
}

export interface AnswerOptions extends Omit<SampleAnswerOptions, "onTokens"> {
  /** Is told all that can be told so far, again and again. */
  readonly onTold?: ((told: Told) => Promise<void>) | undefined;
}

/** All messages as tokens, up to where the model speaks. */
export function promptOf({ renderer, format }: ServedModel, { messages, tools, json }: ChatTurn): Int32Array {
  const aboutTools = tools.length === 0 ? "" : format.describe(tools);
  const instructions = [aboutTools, json === undefined ? "" : describeJsonAnswer(json)].filter((text) => text !== "");
  const written = messages.map((message) => inOwnWords(message, format, tools));
  const [first, ...rest] = written;
  const isSystem = first?.role === "system";
  const system = [...(isSystem ? [first.content] : []), ...instructions].join("\n\n");
  const all: Message[] =
    instructions.length === 0 ? written : [{ role: "system", content: system }, ...(isSystem ? rest : written)];
  return renderer.start(all, aboutTools === "" ? tools : []);
}

/** What an assistant said is written as the model writes it, whatever the template would do. */
export function inOwnWords(message: Message, format: ServedModel["format"], tools: ChatTurn["tools"]): Message {
  const { calls = [], ...rest } = message;
  if (rest.role !== "assistant" || tools.length + calls.length === 0) return rest;
  const answer = rest.content === "" ? {} : { answer: rest.content };
  try {
    return { ...rest, content: format.write({ calls, ...answer }, tools) };
  } catch (error) {
    // text that the format cannot say was told as it is, and comes back so
    if (calls.length === 0) return rest;
    throw error;
  }
}

/** Samples one answer to a prompt. */
export async function answerTurn(
  model: ServedModel,
  turn: ChatTurn,
  prompt: Int32Array,
  options: AnswerOptions,
): Promise<Reply> {
  const { onTold, ...rest } = options;
  const forced = forcedTokens(model, turn);
  checkRoom(model, prompt.length + forced.length);
  const reader = settledReader(model.format, turn.tools);
  const tell = (tokens: Int32Array) =>
    onTold!(toldSoFar(reader, turn, model.renderer.read(joinTokens(forced, tokens))));
  const onTokens = onTold === undefined ? {} : { onTokens: tell };
  const sampled = await sampleAnswer(model, turn, joinTokens(prompt, forced), { ...rest, ...onTokens });
  return replyOf(model, turn, forced, sampled);
}

/** What was said as if the model had sampled it with certainty: by experts, for demonstrations. */
export function spokenTurn(model: ServedModel, turn: ChatTurn, prompt: Int32Array, words: string): Reply {
  const tokens = model.renderer.say(words);
  checkRoom(model, prompt.length + tokens.length - 1);
  const { length } = tokens;
  const logprobs = new Float32Array(length);
  const certain = { logprobs, behaviourLogprobs: logprobs, versions: new Int32Array(length), alternatives: undefined };
  return replyOf(model, turn, none, { tokens, ...certain, stop: "stop-token" });
}

/** Throws where nothing could be said after so many tokens. */
export function checkRoom({ engine, name }: ServedModel, tokens: number): void {
  const { contextLength } = engine.info;
  if (tokens < contextLength) return;
  throw new LudusError("context-too-long", {
    got: `${tokens} tokens of messages`,
    expected: `fewer than ${contextLength}, the context of ${name}`,
  });
}

const none = new Int32Array(0);

/** How a call begins that has to be made, as far as it is the same for all tools that may be called. */
export function forcedTokens({ format, renderer, name }: ServedModel, { choice, tools }: ChatTurn): Int32Array {
  if (choice === "auto") return none;
  const allowed = choice === "required" ? tools : tools.filter((tool) => tool.name === choice.name);
  const openings = allowed.map((tool) => format.open?.(tool.name) ?? "");
  const opening = openings.reduce(commonStart, openings[0] ?? "");
  if (opening === "") {
    throw new LudusError("bad-request", {
      got: "a tool choice that cannot be enforced",
      expected:
        allowed.length === 0 ? "one of the tools on offer" : `"auto", or one tool: ${name} writes ${format.name}`,
      cause: "tool_choice",
    });
  }
  const all = renderer.say(opening);
  return all.slice(0, all.length - renderer.say("").length);
}

function commonStart(a: string, b: string): string {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length++;
  return a.slice(0, length);
}

function replyOf(model: ServedModel, turn: ChatTurn, forced: Int32Array, said: Sampled): Reply {
  const tokens = joinTokens(forced, said.tokens);
  const text = model.renderer.read(tokens);
  const isLong = said.stop === "max-tokens" || said.stop === "context-full";
  const { thought, ...told } = understood(model, turn, text);
  return {
    ...told,
    text,
    thought,
    tokens,
    forced: forced.length,
    ended: said.stop === "stop-token",
    logprobs: said.logprobs,
    behaviourLogprobs: said.behaviourLogprobs,
    versions: said.versions,
    alternatives: said.alternatives,
    finish: told.calls.length > 0 ? "calls" : isLong ? "length" : "stop",
  };
}

/** A call that cannot be read is told as text, with all that follows what could be read. */
function understood({ format }: ServedModel, turn: ChatTurn, text: string): Told & { thought: string | undefined } {
  const { tools, sampling } = turn;
  const shown = beforeStop(text, sampling.stop);
  if (tools.length === 0) return { content: shown, calls: [], thought: undefined };
  const heard = format.parse(shown, tools);
  const calls = callsIn(heard, turn);
  if (heard.calls.every(({ kind }) => kind === "call")) return { content: heard.answer, calls, thought: heard.thought };
  const { length, said } = settledText(format, shown, tools);
  const rest = shown.slice(length);
  return { content: said.answer === "" ? rest : `${said.answer}\n${rest}`, calls, thought: heard.thought };
}

/** What of an answer that is not whole yet can be told. */
function toldSoFar(reader: SettledReader, turn: ChatTurn, text: string): Told {
  const known = tellable(text, turn.sampling.stop);
  if (turn.tools.length === 0) return { content: known, calls: [] };
  const { said } = reader.read(known);
  return { content: said.answer, calls: callsIn(said, turn) };
}

function callsIn({ calls }: Pick<Said, "calls">, { oneCall }: ChatTurn): ToolCall[] {
  const readable = calls.flatMap(({ kind, ...call }) => (kind === "call" && "name" in call ? [call] : []));
  return oneCall ? readable.slice(0, 1) : readable;
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
  const whole = withoutHalfCharacter(text);
  const longest = Math.max(0, ...stops.map((stop) => stop.length - 1));
  for (let length = Math.min(longest, whole.length); length > 0; length--) {
    const end = whole.slice(-length);
    if (stops.some((stop) => stop.startsWith(end))) return whole.slice(0, -length);
  }
  return whole;
}

function withoutHalfCharacter(text: string): string {
  let end = text.length;
  while (text[end - 1] === "\ufffd") end--;
  return text.slice(0, end);
}
