import type { Tokenizer } from "../policy/tokenizer.ts";
import { hintOf, type Trajectory, type Turn } from "../schema/index.ts";
import { tokenTexts } from "../server/dashboard/token-texts.ts";
import type { StoredTrajectory } from "../store/index.ts";
import { figure } from "./number-text.ts";
import { harmless, type Paint } from "./paint.ts";
import { textTable } from "./text-table.ts";

export interface ReplayView {
  readonly run: string;
  /** Whether every token is shown. */
  readonly tokens: boolean;
  readonly paint: Paint;
}

/** An episode as texts to be shown one after the other: what it is, each turn, how it ended. */
export function replayParts(
  { summary, task, trajectory, advantages_T }: StoredTrajectory,
  tokenizer: Tokenizer | undefined,
  view: ReplayView,
): string[] {
  const { paint, run } = view;
  const { turns, tokens_T } = trajectory;
  const texts_T = tokenizer === undefined ? undefined : tokenTexts(tokenizer, tokens_T);
  const weight = trajectory.weight < 1 ? `, ${figure(trajectory.weight)} of its rollout` : "";
  const head = [
    paint("bold", harmless(`${run}, step ${summary.step}, episode ${summary.key}${weight}`)),
    harmless(`task ${task.id}, seed ${task.seed}, ${trajectory.role}: ${JSON.stringify(task.data)}`),
    ...hintLines(trajectory),
    ...(view.tokens && advantages_T === undefined ? [paint("dim", "[not learned from: no advantages]")] : []),
    ...promptLines(trajectory, tokenizer, paint),
    "",
  ].join("\n");
  const shown = turns.map((turn, index) => {
    const from = index === 0 ? 0 : turns[index - 1].span.end;
    const tokens = view.tokens ? tokenTable({ ...trajectory, advantages_T, texts_T }, from, turn.span.end) : "";
    return `${tokens}${turnText(turn, index, turns.length, paint)}`;
  });
  return [head, ...shown, endText(trajectory, paint)];
}

function hintLines(trajectory: Trajectory): string[] {
  const hint = hintOf(trajectory);
  return hint === undefined ? [] : [harmless(`hint (${hint.kind}): ${hint.text}`)];
}

function promptLines({ turns, tokens_T }: Trajectory, tokenizer: Tokenizer | undefined, paint: Paint): string[] {
  const length = turns[0]?.span.start ?? tokens_T.length;
  if (tokenizer === undefined) return [paint("dim", `[${length} tokens were read; no checkpoint to read them with]`)];
  return [paint("dim", "[read]"), harmless(tokenizer.decode(tokens_T.subarray(0, length)).trimEnd())];
}

function turnText(
  { text, calls, reward, observation, info }: Turn,
  index: number,
  count: number,
  paint: Paint,
): string {
  const facts =
    info === undefined
      ? ""
      : `, ${Object.entries(info)
          .map(([name, value]) => `${name} ${value}`)
          .join(", ")}`;
  const isLast = index === count - 1;
  return [
    `${paint("cyan", ">")} ${harmless(text)}`,
    ...calls.map(({ name, arguments: given, outcome }) => {
      const call = harmless(`${name || "a call"}(${JSON.stringify(given)})`);
      return `  ${call}: ${outcome === "ok" ? outcome : paint("red", outcome)}`;
    }),
    paint("dim", harmless(`[turn ${index + 1} of ${count}: reward ${figure(reward)}${facts}]`)),
    // what came after the last turn was never read
    ...(observation === "" ? [] : [paint("dim", isLast ? "[after the end]" : "[read]"), harmless(observation)]),
    "",
  ].join("\n");
}

function endText({ stop, failure, score, turns, temperature }: Trajectory, paint: Paint): string {
  return [
    paint("dim", `[${stop} after ${turns.length} turns, temperature ${figure(temperature)}]`),
    ...(failure === undefined ? [] : [paint("red", harmless(failure))]),
    `score ${figure(score.total)}, ${score.success ? paint("green", "success") : paint("yellow", "no success")}`,
    ...Object.entries(score.parts).map(([part, value]) => `  ${harmless(part)} ${figure(value)}`),
    "",
  ].join("\n");
}

interface TokenColumns extends Pick<Trajectory, "tokens_T" | "mask_T" | "logprobs_T" | "versions_T"> {
  readonly advantages_T: Float32Array | undefined;
  readonly texts_T: readonly string[] | undefined;
}

/** Tokens `from` to `end - 1`; what was sampled has a log-probability and, where it was learned from, an advantage. */
function tokenTable(columns: TokenColumns, from: number, end: number): string {
  const { tokens_T, mask_T, logprobs_T, versions_T, advantages_T, texts_T } = columns;
  const rows = Array.from({ length: end - from }, (_, i) => {
    const t = from + i;
    const sampled = mask_T[t] === 1;
    const text = texts_T === undefined ? [] : [harmless(JSON.stringify(texts_T[t]))];
    return [
      ...[String(t), String(tokens_T[t]), sampled ? "sampled" : "read"],
      ...(sampled ? [logprobs_T[t].toFixed(3), String(versions_T[t])] : ["", ""]),
      ...(advantages_T === undefined ? [] : [sampled ? figure(advantages_T[t]) : ""]),
      ...text,
    ];
  });
  const optional = [...(advantages_T === undefined ? [] : ["advantage"]), ...(texts_T === undefined ? [] : ["text"])];
  const heads = ["t", "id", "mask", "logprob", "version", ...optional];
  return textTable([heads, ...rows], advantages_T === undefined ? [0, 1, 3, 4] : [0, 1, 3, 4, 5]);
}
