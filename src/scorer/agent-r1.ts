import { hasTagFormat, type TagRule, tagContents } from "./format-tags.ts";
import { substringMatchScore } from "./normalize-answer.ts";

export interface AgentR1Score {
  /** In [−1, 1]. */
  total: number;
  /** In [0, 1]. */
  format: number;
  /** 1, 0.2 or 0; counts only where format is 0.5 or more. */
  answer: number;
}

/**
 * Agent-R1's legacy reward (arXiv 2511.14460) on what the agent said turn by turn: 0.5 for each well-formed thought with a
 * tool call and 0.5 for a final thought with an answer, at most 1; then −1 + format, plus the answer where format is at
 * least 0.5. The strict rule allows only white space between the two blocks: the paper says only "well formed".
 */
export function agentR1Score(
  turns: readonly string[],
  golds: string | readonly string[],
  tags: TagRule = "strict",
): AgentR1Score {
  const format = formatOf(turns, tags);
  const answer = answerOf(turns.at(-1) ?? "", golds);
  return { total: -1 + format + (format >= 0.5 ? answer : 0), format, answer };
}

function formatOf(turns: readonly string[], tags: TagRule): number {
  const isCall = (turn: string) =>
    tags === "strict" ? hasTagFormat(turn, ["think", "tool_call"]) : isPublished(turn, "tool_call");
  const isAnswer = (turn: string) =>
    tags === "strict" ? hasTagFormat(turn, ["think", "answer"]) : isPublished(turn, "answer");
  const calls = turns.slice(0, -1).filter(isCall).length;
  const final = turns.slice(-1).filter(isAnswer).length;
  return Math.min(1, 0.5 * (calls + final));
}

/** What `^<think>.*?</think>.*?<tag>.*?</tag>$` matches; the expression takes cubic time on tags that repeat. */
function isPublished(turn: string, tag: string): boolean {
  const thoughtEnd = turn.startsWith("<think>") ? turn.indexOf("</think>") : -1;
  const opening = thoughtEnd < 0 ? -1 : turn.indexOf(`<${tag}>`, thoughtEnd);
  return opening >= 0 && turn.endsWith(`</${tag}>`) && opening + tag.length + 2 <= turn.length - tag.length - 3;
}

function answerOf(lastTurn: string, golds: string | readonly string[]): number {
  const answer = tagContents(lastTurn, "answer")[0];
  if (answer !== undefined && substringMatchScore(answer, golds) === 1) return 1;
  return substringMatchScore(lastTurn, golds) === 1 ? 0.2 : 0;
}
