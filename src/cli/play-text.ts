import type { Episode, EpisodeResult, Move } from "../env/episode.ts";
import { byteTokenizer } from "../policy/byte-tokenizer.ts";
import { chatRenderer } from "../policy/chat-renderer.ts";
import { compactRenderer } from "../policy/compact-renderer.ts";
import type { Renderer } from "../policy/renderer.ts";

/** What the model reads, under the name of who says it. */
export function moveText({ messages, role }: Move, episode: Episode, roles: readonly string[]): string {
  const isFirst = !episode.turns.some((turn) => turn.role === role);
  const tools = isFirst ? episode.templateTools : [];
  const told = tools.map(({ name, description, parameters }) => {
    return `${name}(${Object.keys((parameters.properties as object | undefined) ?? {}).join(", ")})  ${description}`;
  });
  return [
    ...(roles.length > 1 ? [`[for ${role}]`] : []),
    ...(told.length > 0 ? ["[tools]", ...told] : []),
    ...messages.flatMap((message) => [`[${message.name ?? message.role}]`, message.content]),
    "",
  ].join("\n");
}

export type TokenView = (move: Move, episode: Episode) => string;

/** The same as the tokens that a policy is given, written out. */
export function tokenView(kind: "compact" | "chat"): TokenView {
  const tokenizer = byteTokenizer();
  const renderer: Renderer = kind === "compact" ? compactRenderer({ tokenizer }) : chatRenderer({ tokenizer });
  return ({ messages, role }, episode) => {
    const isFirst = !episode.turns.some((turn) => turn.role === role);
    const tokens = isFirst ? renderer.start(messages, episode.templateTools) : renderer.next(messages, { ended: true });
    return `[${tokens.length} tokens]\n${tokenizer.decode(tokens, { special: true })}\n`;
  };
}

/** What a turn earned, and how its calls fared. */
export function turnText(episode: Episode, limit: number): string {
  const { reward, calls } = episode.turns.at(-1)!;
  const fared = calls.map(({ name, outcome }) => `, ${name || "a call"}: ${outcome}`).join("");
  return `[turn ${episode.turns.length} of ${limit}: reward ${rounded(reward)}${fared}]\n`;
}

export function resultText({ stop, failure, turns, scores }: EpisodeResult): string {
  const last = turns.at(-1)?.observation ?? "";
  const ended = stop === "completed" || stop === "max-turns";
  return [
    ...(ended && last !== "" ? ["[after the end]", last] : []),
    `[${stop} after ${turns.length} turns]${failure === undefined ? "" : ` ${failure}`}`,
    ...Object.entries(scores).flatMap(([role, { total, success, parts }]) => [
      `${role}: score ${rounded(total)}, ${success ? "success" : "no success"}`,
      ...Object.entries(parts).map(([part, value]) => `  ${part} ${rounded(value)}`),
    ]),
    "",
  ].join("\n");
}

const rounded = (value: number) => String(Number(value.toFixed(6)));
