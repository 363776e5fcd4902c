/**
 * An algorithm of your own: a credit function and a loss, both on plain arrays, and nothing else. Here credit goes by rank in
 * the group, and the loss is a policy gradient whose ratio is bounded softly by tanh instead of being clipped.
 *
 *     npx node examples/own-algorithm/main.ts        # exits with 1 if it does not learn
 */
import { type Credit, creditResult, groupAttempts } from "../../src/credit/index.ts";
import { searchQa } from "../../src/env/environments/search-qa.ts";
import { cosine, fromScratch, grpo, imitate, train } from "../../src/index.ts";
import type { Loss } from "../../src/loss/loss.ts";

/** Credit by rank: -1 for the worst attempt of a group, 1 for the best, ties in between; nothing where all are alike. */
const byRank: Credit = {
  name: "by-rank",
  needs: {},
  assign(rows) {
    const groups = groupAttempts(rows); // a rollout counts once, in however many rows it is
    const advantages_B_T = rows.map(({ mask_T }) => new Float32Array(mask_T.length));
    for (const attempts of groups) {
      for (const { reward, rows: own } of attempts) {
        const rank = attempts.reduce((sum, other) => sum + Math.sign(reward - other.reward), 0) / attempts.length;
        for (const b of own)
          advantages_B_T[b].forEach((_, t, all_T) => (all_T[t] = rows[b].mask_T[t] === 1 ? rank : 0));
      }
    }
    return creditResult(rows, groups, advantages_B_T);
  },
};

/** Mean over sampled tokens of -tanh(log ratio) * advantage: its derivative fades where the policy has already moved. */
const softBound: Loss = {
  name: "soft-bound",
  needs: {},
  compute(rows, { tokens }) {
    let loss = 0;
    const logprobs_B_T = rows.map((row) =>
      row.logprobs_T.map((logprob, t) => {
        if (row.mask_T[t] === 0) return 0; // nobody sampled it: whatever stands there is not read
        const bounded = Math.tanh(logprob - row.oldLogprobs_T[t]);
        const share = row.advantages_T[t] / tokens;
        loss -= bounded * share;
        return -(1 - bounded ** 2) * share;
      }),
    );
    return { loss, derivatives: { logprobs_B_T }, metrics: {} };
  },
};

// ---- the rest is as with any other algorithm

const { before, after, seconds, policy } = await train({
  env: searchQa({ entities: 20, maxHops: 1 }),
  policy: fromScratch({ size: "tiny", tokenizer: "bytes" }),
  warmStart: imitate({ demonstrations: 2000, noise: 0.5, steps: 400, learningRate: cosine(3e-3, 0.1) }),
  algorithm: {
    ...grpo({ groupSize: 8, learningRate: 5e-4, epochs: 2 }),
    name: "mine",
    credit: byRank,
    loss: softBound,
  },
  steps: 40,
  tasksPerStep: 32,
});
await policy.engine.close();
console.log(`${before!.success.mean.toFixed(2)} → ${after!.success.mean.toFixed(2)} in ${seconds.toFixed(0)} s`);
if (after!.success.mean < before!.success.mean + 0.1) {
  console.error("own-algorithm: expected held-out success to rise by 0.1 or more");
  process.exit(1);
}
