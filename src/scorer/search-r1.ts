import { tagBlocks, tagContents } from "./format-tags.ts";
import { exactMatchScore, substringMatchScore } from "./normalize-answer.ts";
import { strip } from "./python-strings.ts";

export interface SearchR1Weights {
  /** For a trajectory whose tags follow one another as they should, where the answer is wrong. */
  structure: number;
  /** On top of it where some retrieved passage holds a gold answer. */
  retrieval: number;
  /** For an answer tag alone. */
  finalFormat: number;
}

/** The values in the comments of the released code, whose own defaults are 0. */
const defaults: SearchR1Weights = { structure: 0.2, retrieval: 0.1, finalFormat: 0.1 };

/**
 * Search-R1 (arXiv 2503.09516): exact match of the last `<answer>`. The response comes without its prompt; the released code
 * looks at both and so asks for two answers, one being the prompt's example.
 */
export function searchR1Score(response: string, golds: string | readonly string[]): number {
  const answer = tagContents(response, "answer").at(-1);
  return answer === undefined ? 0 : exactMatchScore(strip(answer), golds);
}

/** Search-R1 v0.3 (`qa_em_format`): exact match, and less for the structure, the retrieval or an answer tag alone. */
export function searchR1FormatScore(
  response: string,
  golds: string | readonly string[],
  weights: Partial<SearchR1Weights> = {},
): number {
  const { structure, retrieval, finalFormat } = { ...defaults, ...weights };
  const isValid = hasSearchR1Format(response);
  if (searchR1Score(response, golds) === 1) return isValid ? 1 : 1 - structure;
  if (!isValid) return tagContents(response, "answer").length > 0 ? finalFormat : 0;
  const isFound = tagContents(response, "information").some((text) => substringMatchScore(text, golds) === 1);
  return structure + (isFound ? retrieval : 0);
}

const names = ["think", "search", "information", "answer"];
/** What may follow a block; the text starts like one after `information` and ends after `answer`. */
const followers: Record<string, readonly string[]> = {
  start: ["think"],
  think: ["search", "answer"],
  search: ["information"],
  information: ["think"],
  answer: [],
};

/** Whether the whole response is think, then search, information and think any number of times, then answer. */
export function hasSearchR1Format(response: string): boolean {
  const blocks = tagBlocks(response, names);
  if (blocks === null) return false;
  let state = "start";
  let at = 0;
  for (const block of blocks) {
    if (!followers[state].includes(block.name) || strip(response.slice(at, block.start)) !== "") return false;
    state = block.name;
    at = block.end;
  }
  return state === "answer" && strip(response.slice(at)) === "";
}
