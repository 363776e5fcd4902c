import { groupAttempts } from "./attempts.ts";
import type { Credit } from "./credit.ts";
import { creditResult } from "./credit-result.ts";
import { checkRelative, type RelativeChoice, relativeAdvantages } from "./relative-advantages.ts";
import { spreadOverAttempts } from "./spread.ts";

/**
 * GRPO: a rollout's reward against those of its group, the same for all its sampled tokens. M-GRPO is this credit with a
 * loss that averages over turns.
 */
export function groupRelative(options: RelativeChoice = {}): Credit {
  checkRelative("groupRelative", options);
  return {
    name: "group-relative",
    needs: {},
    assign(rows) {
      const groups = groupAttempts(rows);
      const relative = (rewards_G: Float64Array) => relativeAdvantages(rewards_G, options);
      return creditResult(rows, groups, spreadOverAttempts(rows, groups, relative));
    },
  };
}

/** Dr.GRPO: the mean is subtracted, nothing is divided by. Its constant length norm is the loss's part. */
export function drGrpoCredit(): Credit {
  return { ...groupRelative({ scale: "none" }), name: "dr-grpo" };
}
