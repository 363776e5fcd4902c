import type { CreditRow } from "../credit/credit.ts";
import { defined } from "../defined.ts";
import { delegate } from "../engine/delegate.ts";
import type { Engine } from "../engine/engine.ts";
import type { Loss } from "../loss/loss.ts";
import { totalsOf } from "../loss/totals.ts";
import type { Algorithm } from "../train/algorithm.ts";
import type { LearningPolicy } from "../train/learning-policy.ts";

/** What an ablated arm trains with: the policy's engine must forget masks too, or no gradient would flow outside them. */
export interface Ablated {
  readonly policy: LearningPolicy;
  readonly algorithm: Algorithm;
}

/**
 * Without the action mask: the loss is also on what tools answered, from the first sampled token on, as if the policy had said
 * it. Its probability there is that of now, so that the ratio is 1: nobody sampled those tokens.
 */
export function withoutActionMask(policy: LearningPolicy, algorithm: Algorithm): Ablated {
  const { loss } = algorithm;
  const widened: Loss = {
    ...loss,
    compute(rows) {
      const whole = rows.map((row) => {
        const mask_T = fromFirstSampled(row.mask_T);
        const advantage = row.advantages_T[row.mask_T.indexOf(1)] ?? 0;
        const said = (values_T: Float32Array) =>
          values_T.map((value, t) => (row.mask_T[t] === 1 ? value : row.logprobs_T[t]));
        const advantages_T = row.advantages_T.map((value, t) => (row.mask_T[t] === 1 ? value : mask_T[t] * advantage));
        return { ...row, mask_T, advantages_T, oldLogprobs_T: said(row.oldLogprobs_T) };
      });
      return loss.compute(whole, totalsOf(whole));
    },
  };
  return { policy: { ...policy, engine: unmasked(policy.engine) }, algorithm: { ...algorithm, loss: widened } };
}

/**
 * Without the advantage mask: credit runs through observations as through the policy's own tokens, values there included. The
 * loss stays where it was.
 */
export function withoutAdvantageMask(policy: LearningPolicy, algorithm: Algorithm): Ablated {
  const { credit } = algorithm;
  const widened: typeof credit = {
    ...credit,
    assign(rows) {
      const { advantages_B_T, returns_B_T, metrics } = credit.assign(rows.map(widenedRow));
      const masked = (arrays: readonly Float32Array[]) =>
        arrays.map((array_T, b) => array_T.map((value, t) => value * rows[b].mask_T[t]));
      return {
        metrics,
        advantages_B_T: masked(advantages_B_T),
        ...defined({ returns_B_T: returns_B_T === undefined ? undefined : masked(returns_B_T) }),
      };
    },
  };
  return { policy: { ...policy, engine: unmasked(policy.engine) }, algorithm: { ...algorithm, credit: widened } };
}

/** Turns begin where the turn before ended, so that what was read in between is within one. */
function widenedRow(row: CreditRow): CreditRow {
  const turns = row.turns.map((turn, i) => ({ ...turn, start: i === 0 ? turn.start : row.turns[i - 1].end }));
  return { ...row, mask_T: fromFirstSampled(row.mask_T), turns };
}

/** 1 from the first sampled token to the last. */
function fromFirstSampled(mask_T: Uint8Array): Uint8Array<ArrayBuffer> {
  const [first, last] = [mask_T.indexOf(1), mask_T.lastIndexOf(1)];
  return Uint8Array.from(mask_T, (_, t) => (first >= 0 && first <= t && t <= last ? 1 : 0));
}

/** An engine that forgets masks, so that gradients flow wherever the loss says. */
export function unmasked(engine: Engine): Engine {
  return delegate(engine, {
    forward: (batch, options) => engine.forward({ rows: batch.rows.map(({ mask: _mask, ...row }) => row) }, options),
  });
}
