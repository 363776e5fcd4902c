import { delegate } from "../../engine/delegate.ts";
import type { Engine } from "../../engine/engine.ts";
import { sumLosses } from "../../loss/combine.ts";
import { entropyBonus } from "../../loss/entropy-bonus.ts";
import type { Loss } from "../../loss/loss.ts";
import { totalsOf } from "../../loss/totals.ts";
import { unmasked } from "../../recipe/ablations.ts";
import type { Algorithm, MakePolicy } from "../../train/index.ts";

/** The same algorithm with a loss that takes every token but the first for sampled. */
export function withoutMask(algorithm: Algorithm): Algorithm {
  const { loss } = algorithm;
  const unmasked: Loss = {
    ...loss,
    compute(rows) {
      const whole = rows.map((row) => ({
        ...row,
        mask_T: row.mask_T.map((_, t) => (t === 0 ? 0 : 1)),
        advantages_T: row.advantages_T.map((_, t) => (t === 0 ? 0 : row.advantages_T[row.mask_T.indexOf(1)])),
      }));
      return loss.compute(whole, totalsOf(whole));
    },
  };
  return { ...algorithm, loss: unmasked };
}

/** The same algorithm with an entropy bonus of the wrong sign: the policy is paid for certainty. */
export function withEntropyPenalty(algorithm: Algorithm): Algorithm {
  const penalty = entropyBonus({ coefficient: -3, aggregation: "token-mean" });
  return { ...algorithm, loss: sumLosses([algorithm.loss, penalty]) };
}

/** The same algorithm with a loss whose derivatives are as large as a float can be: gradients overflow. */
export function withOverflow(algorithm: Algorithm): Algorithm {
  const { loss } = algorithm;
  const overflowing: Loss = {
    ...loss,
    compute(rows, totals) {
      const { derivatives, ...result } = loss.compute(rows, totals);
      const logprobs_B_T = derivatives.logprobs_B_T.map((array_T) => array_T.map((value) => 3e38 * Math.sign(value)));
      return { ...result, derivatives: { logprobs_B_T } };
    },
  };
  return { ...algorithm, loss: overflowing };
}

/** An engine that forgets masks, so that gradients flow wherever the loss says. */
export function unmaskedEngine(make: MakePolicy): MakePolicy {
  return changed(make, unmasked);
}

/** An engine that samples colder than it was asked to, and says nothing. */
export function coldEngine(make: MakePolicy): MakePolicy {
  return changed(make, (engine) =>
    delegate(engine, {
      sample: (request, signal) => engine.sample({ ...request, temperature: 0.5 * (request.temperature ?? 1) }, signal),
    }),
  );
}

function changed(make: MakePolicy, change: (engine: Engine) => Engine): MakePolicy {
  return async (env, seed) => {
    const policy = await make(env, seed);
    return { ...policy, engine: change(policy.engine) };
  };
}
