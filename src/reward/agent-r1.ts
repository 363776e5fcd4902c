import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { makeScore } from "../schema/score.ts";
import { agentR1Score } from "../scorer/agent-r1.ts";
import type { TagRule } from "../scorer/format-tags.ts";
import type { GoldOf } from "./episode-text.ts";
import { makeReward } from "./make-reward.ts";
import type { Reward } from "./reward.ts";

const knownOptions: KnownOptions<{ tags?: TagRule }> = { tags: true };

/**
 * Agent-R1's legacy reward (arXiv 2511.14460): −1 + format, plus the answer where format is at least 0.5. The part `format`
 * is −1 to 0, the part `outcome` 1, 0.2 or 0.
 */
export function agentR1<Data, State = unknown>(
  gold: GoldOf<Data>,
  options: { readonly tags?: TagRule } = {},
): Reward<Data, State> {
  refuseUnknownOptions("agentR1", options, knownOptions);
  const { tags = "strict" } = options;
  return makeReward(
    ({ task, turns }) => {
      const texts = turns.map(({ text }) => text);
      const { format, answer } = agentR1Score(texts, gold(task), tags);
      return makeScore({ format: format - 1, outcome: format >= 0.5 ? answer : 0 });
    },
    { range: [-1, 1] },
  );
}
