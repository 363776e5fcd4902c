import type { Trajectory } from "../../schema/index.ts";
import { searchableText, searchWords } from "../search-text.ts";
import type { TrajectoryFilter, TrajectorySummary } from "../store.ts";

const columns = ["split", "taskId", "rollout", "role", "stop", "success"] as const;

/** Words of a trajectory, as a search compares them. */
export function trajectoryWords(trajectory: Trajectory): readonly string[] {
  return searchWords(searchableText(trajectory));
}

/** What decides whether a trajectory fits. */
export function trajectoryMatcher(
  filter: TrajectoryFilter,
): (summary: TrajectorySummary, words: readonly string[]) => boolean {
  const { steps = {}, reward, tool, annotations = {}, text = "" } = filter;
  const isSaid = text.trim() === "" ? () => true : phraseMatcher(text);
  return (summary, words) =>
    columns.every((column) => filter[column] === undefined || filter[column] === summary[column]) &&
    summary.step >= (steps.from ?? 0) &&
    summary.step <= (steps.to ?? Number.POSITIVE_INFINITY) &&
    (reward === undefined || isBetween(summary.reward, reward)) &&
    (tool === undefined || summary.tools.includes(tool.toWellFormed())) &&
    Object.entries(annotations).every(([name, wanted]) => isRecorded(summary.annotations?.[name], wanted)) &&
    isSaid(words);
}

function isRecorded(kind: string | undefined, wanted: boolean | string): boolean {
  return typeof wanted === "string" ? kind === wanted : (kind !== undefined) === wanted;
}

function isBetween(value: number, { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY }): boolean {
  return value >= min && value <= max;
}

/** Whole words one after the other; a `*` at the end stands for any ending. */
function phraseMatcher(text: string): (words: readonly string[]) => boolean {
  const [isPrefix, phrase] = [/\*\s*$/.test(text), searchWords(text)];
  if (phrase.length === 0) return () => false;
  const last = phrase.length - 1;
  const isAt = (words: readonly string[], start: number) =>
    phrase.every((word, i) =>
      i === last && isPrefix ? (words[start + i] ?? "").startsWith(word) : words[start + i] === word,
    );
  return (words) => words.some((_, start) => isAt(words, start));
}
