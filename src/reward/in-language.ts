import { refuseUnknownOptions } from "../known-options.ts";
import { accepts, compileLanguage, difference, tryLanguage } from "../scorer/regular-language.ts";
import { right, wrong } from "../scorer/verdict.ts";
import { knownTextOptions, type TextOptions } from "./episode-text.ts";
import type { Reward } from "./reward.ts";
import { remembered, verified, wholeAnswer } from "./verified.ts";

/** 1 where the answer is a word of the task's regular language, given as an expression, else 0. No answer makes it slow. */
export function inLanguage<Data, State = unknown>(
  expression: (task: Data) => string,
  options: Partial<TextOptions<Data, State>> = {},
): Reward<Data, State> {
  refuseUnknownOptions("inLanguage", options, knownTextOptions);
  const { text = wholeAnswer } = options;
  const languageOf = remembered(compileLanguage);
  return verified((episode) => {
    return accepts(languageOf(expression(episode.task)), text(episode)) ? right : wrong("not a word of the language");
  });
}

/** 1 where the answer is an expression of the same regular language as the gold one, however it is written, else 0. */
export function sameLanguage<Data, State = unknown>(
  gold: (task: Data) => string,
  options: Partial<TextOptions<Data, State>> = {},
): Reward<Data, State> {
  refuseUnknownOptions("sameLanguage", options, knownTextOptions);
  const { text = wholeAnswer } = options;
  const languageOf = remembered(compileLanguage);
  return verified((episode) => {
    const expected = languageOf(gold(episode.task));
    const said = tryLanguage(text(episode).trim());
    if (said === undefined) return wrong("not a regular expression");
    const other = difference(said, expected);
    if (other === undefined) return right;
    return wrong(other === "unknown" ? "too large to compare" : `differs on ${JSON.stringify(other.word)}`);
  });
}
