import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { makeScore } from "../schema/score.ts";
import type { TagRule } from "../scorer/format-tags.ts";
import { reSearchScore } from "../scorer/re-search.ts";
import { type GoldOf, taggedTranscript } from "./episode-text.ts";
import { makeReward } from "./make-reward.ts";
import type { Reward } from "./reward.ts";

const tags = { observation: "result", all: ["think", "search", "result", "answer"] };

const knownOptions: KnownOptions<{ tags?: TagRule }> = { tags: true };

/**
 * ReSearch (arXiv 2503.19470) of the whole episode, observations as `<result>`: 0 for a broken format or an episode that was
 * cut off, F1 of the boxed answer, 0.1 for the format alone.
 */
export function reSearch<Data, State = unknown>(
  gold: GoldOf<Data>,
  options: { readonly tags?: TagRule } = {},
): Reward<Data, State> {
  refuseUnknownOptions("reSearch", options, knownOptions);
  return makeReward(
    ({ task, turns, stop }) => {
      const finished = stop === "completed";
      const { reward } = reSearchScore(taggedTranscript(turns, tags), gold(task), { finished, ...options });
      return makeScore({ outcome: reward });
    },
    { range: [0, 1] },
  );
}
