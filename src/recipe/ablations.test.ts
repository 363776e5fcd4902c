import { expect, test } from "vitest";
import type { CreditRow } from "../credit/credit.ts";
import { fakeEngine } from "../engine/fake-engine.ts";
import { makeRow } from "../loss/contract/make-row.ts";
import { totalsOf } from "../loss/totals.ts";
import { byteTokenizer } from "../policy/byte-tokenizer.ts";
import { compactRenderer } from "../policy/compact-renderer.ts";
import { grpo } from "../train/presets/grpo.ts";
import { ppo } from "../train/presets/ppo.ts";
import { withoutActionMask, withoutAdvantageMask } from "./ablations.ts";

const engine = fakeEngine({ vocabularySize: 2, distribution: [1, 3] });
const policy = { engine, renderer: compactRenderer({ tokenizer: byteTokenizer() }) };
// prompt, said, read, said, prompt of nobody
const mask_T = Uint8Array.of(0, 1, 0, 0, 1, 0);

test("without the action mask the loss is on what was read in between, at ratio 1, and nowhere else", () => {
  const row = makeRow({
    mask_T,
    advantages_T: Float32Array.of(0, 2, 0, 0, 2, 0),
    logprobs_T: Float32Array.of(-1, -1, -3, -3, -1, -1),
    oldLogprobs_T: Float32Array.of(0, -1, 0, 0, -1, 0),
  });
  const { algorithm } = withoutActionMask(policy, grpo());
  const { derivatives } = algorithm.loss.compute([row], totalsOf([row]));
  expect([...derivatives.logprobs_B_T[0]]).toEqual([0, -0.5, -0.5, -0.5, -0.5, 0]);
});

test("without the advantage mask credit fades over what was read too", () => {
  const row: CreditRow = {
    group: "a",
    rollout: "a/0",
    role: "agent",
    reward: 1,
    weight: 1,
    isLast: true,
    mask_T,
    turns: [
      { start: 1, end: 2, reward: 0 },
      { start: 4, end: 5, reward: 0 },
    ],
    values_T: new Float32Array(6),
  };
  const algorithm = ppo({ lambda: 0.5 });
  const plain = algorithm.credit.assign([row, { ...row, group: "b", rollout: "b/0", reward: 0 }]);
  const ablated = withoutAdvantageMask(policy, algorithm);
  const faded = ablated.algorithm.credit.assign([row, { ...row, group: "b", rollout: "b/0", reward: 0 }]);
  // returns are advantages before whitening, as values are 0
  expect([...plain.returns_B_T![0]]).toEqual([0, 0.5, 0, 0, 1, 0]);
  expect([...faded.returns_B_T![0]]).toEqual([0, 0.125, 0, 0, 1, 0]);
});

test("the engine is asked without masks: there are log-probabilities also where nothing was sampled", async () => {
  const batch = { rows: [{ tokens: [1, 1, 1], mask: Uint8Array.of(0, 0, 1) }] };
  const masked = await engine.forward(batch);
  const unmasked = await withoutActionMask(policy, grpo()).policy.engine.forward(batch);
  expect(masked.logprobs_B_T[0][1]).toBe(0);
  expect(unmasked.logprobs_B_T[0][1]).toBeCloseTo(Math.log(0.75), 6);
});
