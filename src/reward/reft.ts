import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { makeScore } from "../schema/score.ts";
import { lastBoxed } from "../scorer/boxed.ts";
import { reftScore } from "../scorer/math-answer.ts";
import { lastText, type TextOptions } from "./episode-text.ts";
import { makeReward } from "./make-reward.ts";
import type { Reward } from "./reward.ts";

export interface ReftOptions<Data, State> extends TextOptions<Data, State> {
  /** Finds the answer in the text; null where there is none. */
  extract: (text: string) => string | null;
}

const knownReftOptions: KnownOptions<ReftOptions<unknown, unknown>> = { text: true, extract: true };

/** ReFT (arXiv 2401.08967): 1 for the right answer, 0.1 for any that can be extracted, else 0. */
export function reft<Data, State = unknown>(
  gold: (task: Data) => string,
  options: Partial<ReftOptions<Data, State>> = {},
): Reward<Data, State> {
  refuseUnknownOptions("reft", options, knownReftOptions);
  const { text = lastText, extract = lastBoxed } = options;
  return makeReward((episode) => makeScore({ outcome: reftScore(text(episode), gold(episode.task), extract) }), {
    range: [0, 1],
  });
}
