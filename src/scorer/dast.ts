import { LudusError } from "../errors.ts";

// G: the rollouts of one task

/**
 * UI-R1-E's difficulty-adaptive length reward (DAST). The length budget lies between the mean length of the full-score
 * rollouts and the longest one, nearer to the first the more rollouts have the full score. A full score is worth more the
 * shorter it is; a lower score is punished, the more so the shorter.
 */
export function dast(rewards_G: readonly number[], lengths_G: readonly number[], fullScore = 3): number[] {
  if (rewards_G.length !== lengths_G.length) {
    throw new LudusError("length-mismatch", {
      got: `${rewards_G.length} rewards and ${lengths_G.length} lengths`,
      expected: "one length per reward",
    });
  }
  const full = lengths_G.filter((_, g) => rewards_G[g] === fullScore);
  const share = full.length / Math.max(1, rewards_G.length);
  const meanFull = full.reduce((sum, length) => sum + length, 0) / Math.max(1, full.length);
  const budget = share * meanFull + (1 - share) * Math.max(0, ...lengths_G);
  return rewards_G.map((reward, g) => {
    const excess = budget === 0 ? 0 : (lengths_G[g] - budget) / budget;
    return reward + (reward === fullScore ? Math.max(-0.5 * excess + 0.5, 0.1) : Math.min(0.9 * excess - 0.1, -0.1));
  });
}
