import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { makeScore } from "../schema/score.ts";
import { type SearchR1Weights, searchR1FormatScore, searchR1Score } from "../scorer/search-r1.ts";
import { allText, type GoldOf, taggedTranscript } from "./episode-text.ts";
import { makeReward } from "./make-reward.ts";
import type { Reward } from "./reward.ts";

const tags = { observation: "information", all: ["think", "search", "information", "answer"] };

/** Search-R1 (arXiv 2503.09516): exact match of the last `<answer>` that the policy wrote. */
export function searchR1<Data, State = unknown>(gold: GoldOf<Data>): Reward<Data, State> {
  return makeReward((episode) => makeScore({ outcome: searchR1Score(allText(episode), gold(episode.task)) }), {
    range: [0, 1],
  });
}

const knownWeights: KnownOptions<SearchR1Weights> = { structure: true, retrieval: true, finalFormat: true };

/** Search-R1 v0.3: exact match, and less for structure, retrieval or an answer tag alone. Solved is the exact match. */
export function searchR1Format<Data, State = unknown>(
  gold: GoldOf<Data>,
  weights: Partial<SearchR1Weights> = {},
): Reward<Data, State> {
  refuseUnknownOptions("searchR1Format", weights, knownWeights);
  return makeReward(
    (episode) => {
      const golds = gold(episode.task);
      const outcome = searchR1FormatScore(taggedTranscript(episode.turns, tags), golds, weights);
      return makeScore({ outcome }, searchR1Score(allText(episode), golds) === 1);
    },
    { range: [0, 1] },
  );
}
