import { hasTagFormat, tagContents } from "./format-tags.ts";
import { strip } from "./python-strings.ts";

export interface RagenTurn {
  /** Actions that the agent asked for. */
  proposed: readonly string[];
  /** How many of them the environment knows. */
  valid: number;
}

export interface RagenOptions {
  penalty: number;
}

const defaults: RagenOptions = { penalty: -0.1 };

/**
 * RAGEN (arXiv 2504.20073): −0.1 for every turn without a valid action or with one that had to be dropped, even if the
 * task is solved. Returned per turn; their sum is the episode's penalty.
 */
export function ragenPenalties(turns: readonly RagenTurn[], options: Partial<RagenOptions> = {}): number[] {
  const { penalty } = { ...defaults, ...options };
  return turns.map(({ proposed, valid }) => (valid === 0 || valid !== proposed.length ? penalty : 0));
}

/** The actions of `<think>…</think><answer>a || b</answer>`, at most `maxActions`; none where the format is broken. */
export function parseRagenActions(text: string, maxActions = 5): string[] {
  if (!hasTagFormat(strip(text), ["think", "answer"])) return [];
  const actions = tagContents(text, "answer")[0].split("||").map(strip);
  return actions.filter((action) => action !== "").slice(0, maxActions);
}
