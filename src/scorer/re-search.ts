import { lastBoxed } from "./boxed.ts";
import { type TagRule, tagBlocks, tagContents } from "./format-tags.ts";
import { tokenF1 } from "./normalize-answer.ts";
import { countOf } from "./python-strings.ts";

export interface ReSearchOptions {
  /** False where the response was cut off before its end: that is 0, whatever it holds. */
  finished: boolean;
  tags: TagRule;
}

export interface ReSearchScore {
  reward: number;
  /** Why the format is wrong; null where it is right. */
  formatError: string | null;
}

const defaults: ReSearchOptions = { finished: true, tags: "strict" };

/**
 * ReSearch (arXiv 2503.19470) on a response without its prompt: 0 for a broken format, F1 of the boxed answer where it shares
 * a word with a gold one, 0.1 for a right format alone.
 */
export function reSearchScore(
  response: string,
  golds: string | readonly string[],
  options: Partial<ReSearchOptions> = {},
): ReSearchScore {
  const { finished, tags } = { ...defaults, ...options };
  const formatError = reSearchFormatError(response, tags);
  if (formatError !== null) return { reward: 0, formatError };
  if (!finished) return { reward: 0, formatError: "the response was cut off" };
  const answer = lastBoxed(tagContents(response, "answer")[0] ?? "");
  if (answer === null) return { reward: 0, formatError: "the box is never closed" };
  return { reward: reSearchAnswerScore(answer, golds), formatError: null };
}

/** ReSearch's reward of an answer in the right format: its F1, or 0.1 where it shares no word with a gold answer. */
export function reSearchAnswerScore(answer: string, golds: string | readonly string[]): number {
  return tokenF1(answer, golds) || 0.1;
}

/** What is wrong with the tags: thoughts in pairs, one answer with a box, each search followed by its result. */
export function reSearchFormatError(response: string, tags: TagRule = "strict"): string | null {
  const count = (tag: string) => countOf(response, tag);
  if (count("<think>") !== count("</think>")) return "<think> and </think> are not paired";
  if (count("<think>") === 0) return "no <think>";
  if (count("<answer>") !== 1 || count("</answer>") !== 1) return "not exactly one <answer> and </answer>";
  if (!hasSearchOrder(response)) return "a <search> without its <result> after it";
  // counting alone lets nested tags pass
  if (tags === "strict" && tagBlocks(response, ["think", "search", "result", "answer"]) === null) return "nested tags";
  const answer = tagContents(response, "answer")[0];
  if (answer === undefined) return "</answer> before <answer>";
  return answer.includes("\\boxed{") && answer.includes("}") ? null : "no \\boxed{} in the answer";
}

function hasSearchOrder(response: string): boolean {
  let at = response.indexOf("<search>");
  while (at >= 0) {
    const searchEnd = response.indexOf("</search>", at);
    const result = response.indexOf("<result>", at);
    const resultEnd = result < 0 ? -1 : response.indexOf("</result>", result);
    if (!(at < searchEnd && searchEnd < result && result < resultEnd)) return false;
    at = response.indexOf("<search>", resultEnd);
  }
  return true;
}
