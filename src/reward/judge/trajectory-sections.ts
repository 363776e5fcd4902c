import { cutText } from "../../cut-text.ts";
import type { ScoredEpisode } from "../reward.ts";
import type { Section } from "./fence.ts";

/**
 * The trajectory as labelled sections, so that one speaker's text cannot pass for another's. Where it is longer than
 * `maxChars`, the longest texts are cut in the middle to a common length.
 */
export function trajectorySections(
  { turns, answer }: Pick<ScoredEpisode, "turns" | "answer">,
  maxChars: number,
): Section[] {
  return cutSections([...turnSections(turns), { label: "FINAL ANSWER", text: answer }], maxChars);
}

/** Several attempts at one task, each turn labelled with its attempt; cut in the same way, all together. */
export function attemptSections(
  attempts: readonly Pick<ScoredEpisode, "turns" | "stop">[],
  maxChars: number,
): Section[] {
  const all = attempts.flatMap(({ turns, stop }, index) => {
    const attempt = `ATTEMPT ${index + 1}`;
    const own = turnSections(turns).map(({ label, text }) => ({ label: `${attempt}, ${label}`, text }));
    return [...own, { label: `${attempt}, END`, text: stop }];
  });
  return cutSections(all, maxChars);
}

function turnSections(turns: ScoredEpisode["turns"]): Section[] {
  return turns.flatMap(({ text, observation }, turn) => [
    { label: `POLICY ${turn + 1}`, text },
    ...(observation === "" ? [] : [{ label: `ENVIRONMENT ${turn + 1}`, text: observation }]),
  ]);
}

function cutSections(sections: readonly Section[], maxChars: number): Section[] {
  const most = commonLength(
    sections.map(({ text }) => text.length),
    maxChars,
  );
  return sections.map(({ label, text }) => ({ label, text: cutText(text, most) }));
}

/** The length at which cutting all longer ones makes their sum fit. */
function commonLength(lengths: readonly number[], maxSum: number): number {
  const sorted = lengths.toSorted((a, b) => a - b);
  let left = maxSum;
  for (const [index, length] of sorted.entries()) {
    const each = left / (sorted.length - index);
    if (length > each) return Math.floor(each);
    left -= length;
  }
  return Number.POSITIVE_INFINITY;
}
