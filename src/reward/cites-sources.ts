import { refuseUnknownOptions } from "../known-options.ts";
import { type CitationRules, checkCitations } from "../scorer/citations.ts";
import { knownTextOptions, type TextOptions } from "./episode-text.ts";
import type { Reward } from "./reward.ts";
import { verified, wholeAnswer } from "./verified.ts";

/**
 * 1 where the answer cites sources that there are, quotes them truly and leaves out none that is required, else 0:
 *
 *     gated(citesSources((task: Question) => ({ sources: task.passages })), f1((task) => task.answer))
 */
export function citesSources<Data, State = unknown>(
  rules: (task: Data) => CitationRules,
  options: Partial<TextOptions<Data, State>> = {},
): Reward<Data, State> {
  refuseUnknownOptions("citesSources", options, knownTextOptions);
  const { text = wholeAnswer } = options;
  return verified((episode) => checkCitations(text(episode), rules(episode.task)));
}
