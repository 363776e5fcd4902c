import { makeScore, type Score } from "../schema/score.ts";
import type { VerifierVerdict } from "../scorer/verdict.ts";
import type { TextOf } from "./episode-text.ts";
import { makeReward } from "./make-reward.ts";
import type { Reward, ScoredEpisode } from "./reward.ts";

/** The whole answer: what verifiers read where no other text is named. */
export const wholeAnswer: TextOf = ({ answer }) => answer;

/** 1 where a verifier finds nothing wrong, else 0. */
export function verified<Data, State>(
  check: (episode: ScoredEpisode<Data, State>) => VerifierVerdict | Promise<VerifierVerdict>,
): Reward<Data, State> {
  return makeReward(async (episode): Promise<Score> => makeScore({ outcome: (await check(episode)).isRight ? 1 : 0 }), {
    range: [0, 1],
  });
}

/** Makes what is costly to make of a task once for each of the last so many tasks. */
export function remembered<Key, Value>(make: (key: Key) => Value, kept = 64): (key: Key) => Value {
  const made = new Map<Key, Value>();
  return (key) => {
    if (!made.has(key)) {
      made.set(key, make(key));
      const [oldest] = made.keys();
      if (made.size > kept) made.delete(oldest);
    }
    return made.get(key)!;
  };
}
