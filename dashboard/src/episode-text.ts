import type { ShownTurn, TokenColumns, TrajectoryAnswer } from "../../src/server/dashboard/answers.ts";

/** The text of tokens `start` to `end - 1`, as far as they are loaded; undefined without a tokenizer. */
export function textOf({ texts, from }: TokenColumns, start: number, end: number): string | undefined {
  return texts?.slice(Math.max(0, start - from), Math.max(0, end - from)).join("");
}

/** What a turn was told: the answers of its calls, or what the environment said. */
export function observationsOf({ calls, observation }: ShownTurn): readonly string[] {
  return calls.length > 0 ? calls.map((call) => call.observation.text) : [observation.text];
}

/**
 * Whether the context before a turn says no more than the observations of the turn before it: then it is shown there, and the
 * context need not repeat it. Marks of the chat template around it do not count.
 */
export function isRepeated(context: string, before: ShownTurn): boolean {
  const told = observationsOf(before).filter((text) => text.trim() !== "");
  if (told.length === 0) return false;
  let rest = context;
  for (const text of told) {
    const at = rest.indexOf(text.trim());
    if (at < 0) return false;
    rest = rest.slice(0, at) + rest.slice(at + text.trim().length);
  }
  return withoutMarks(rest) === "";
}

function withoutMarks(text: string): string {
  return text
    .replaceAll(/<\|?[\w/ -]*\|?>/g, "")
    .replaceAll(/\b(system|user|assistant|tool|tool_response)\b/g, "")
    .trim();
}

/** A turn as text: what was said, what was called, what came of it. */
export function turnText(turn: ShownTurn, number: number): string {
  const calls = turn.calls.map(
    (call) => `[call ${call.name} ${call.arguments.text}, ${call.outcome}]\n${call.observation.text}`,
  );
  const told =
    calls.length > 0 ? calls : turn.observation.text === "" ? [] : [`[observation]\n${turn.observation.text}`];
  return [`[turn ${number}]`, turn.text.text, ...told].join("\n");
}

/** A whole episode as text, the prompt first where it is known. */
export function episodeText(answer: TrajectoryAnswer): string {
  const { summary, turns, tokens, failure } = answer;
  const head = `${summary.taskId}: reward ${summary.reward ?? "NaN"}, ${summary.stop}, step ${summary.step}`;
  const prompt = tokens.from === 0 ? textOf(tokens, 0, turns[0]?.start ?? tokens.total) : undefined;
  return [
    head,
    ...(prompt === undefined ? [`[task]\n${answer.task.data.text}`] : [`[context]\n${prompt}`]),
    ...turns.map((turn, i) => turnText(turn, i + 1)),
    ...(failure === undefined ? [] : [`[failure]\n${failure.text}`]),
  ].join("\n\n");
}
