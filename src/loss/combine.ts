import { defined } from "../defined.ts";
import { LudusError } from "../errors.ts";
import type { Loss, LossNeeds, LossResult, LossRow } from "./loss.ts";

/** The same loss times a factor. Metrics stay as they are. */
export function scaleLoss(loss: Loss, factor: number): Loss {
  return {
    ...loss,
    compute(rows, totals) {
      const result = loss.compute(rows, totals);
      return { ...result, loss: factor * result.loss, derivatives: scaled(result.derivatives, factor) };
    },
  };
}

/** Several losses at once. The part that each has in the sum is the metric `loss/<name>`. */
export function sumLosses(losses: readonly Loss[]): Loss {
  const names = losses.map(({ name }) => name);
  if (new Set(names).size < names.length || names.length === 0) {
    const got = `[${names.join(", ")}]`;
    throw new LudusError("bad-loss-option", { got, expected: "one or more losses of different names" });
  }
  return {
    name: names.join("+"),
    needs: allNeeds(losses),
    zeroGradient: (row) => losses.every((loss) => loss.zeroGradient?.(row) === true),
    compute(rows, totals) {
      const results = losses.map((loss) => loss.compute(rows, totals));
      const parts = Object.fromEntries(results.map(({ loss }, index) => [`loss/${names[index]}`, loss]));
      return {
        loss: results.reduce((sum, { loss }) => sum + loss, 0),
        derivatives: addDerivatives(rows, results),
        metrics: Object.assign({}, ...results.map(({ metrics }) => metrics), parts),
        maxima: Object.assign({}, ...results.map(({ maxima }) => maxima)),
      };
    },
  };
}

/** Metrics of the parts of a mini-batch, put together. */
export function addMetrics(parts: readonly Pick<LossResult, "metrics" | "maxima">[]): Record<string, number> {
  const joined: Record<string, number> = {};
  for (const { metrics, maxima = {} } of parts) {
    for (const [name, value] of Object.entries(metrics)) joined[name] = (joined[name] ?? 0) + value;
    for (const [name, value] of Object.entries(maxima)) joined[name] = Math.max(joined[name] ?? value, value);
  }
  return joined;
}

function addDerivatives(rows: readonly LossRow[], results: readonly LossResult[]): LossResult["derivatives"] {
  const sum = (kind: keyof LossResult["derivatives"]) => {
    const present = results.flatMap(({ derivatives }) => (derivatives[kind] === undefined ? [] : [derivatives[kind]]));
    return present.length === 0 ? undefined : rows.map((_, b) => added(present.map((arrays_B_T) => arrays_B_T[b])));
  };
  const entropies_B_T = sum("entropies_B_T");
  const values_B_T = sum("values_B_T");
  const targets_B_T = sum("targets_B_T");
  return {
    logprobs_B_T: sum("logprobs_B_T") ?? [],
    ...defined({ entropies_B_T, values_B_T, targets_B_T }),
  };
}

function added(arrays: readonly Float32Array[]): Float32Array {
  const [first, ...rest] = arrays;
  const sum_T = first.slice();
  for (const array_T of rest) {
    for (let t = 0; t < sum_T.length; t++) sum_T[t] += array_T[t];
  }
  return sum_T;
}

function scaled(derivatives: LossResult["derivatives"], factor: number): LossResult["derivatives"] {
  const times = (arrays_B_T: readonly Float32Array[]) =>
    arrays_B_T.map((array_T) => array_T.map((derivative) => factor * derivative));
  const { logprobs_B_T, entropies_B_T, values_B_T, targets_B_T } = derivatives;
  return {
    logprobs_B_T: times(logprobs_B_T),
    ...defined({
      entropies_B_T: entropies_B_T === undefined ? undefined : times(entropies_B_T),
      values_B_T: values_B_T === undefined ? undefined : times(values_B_T),
      targets_B_T: targets_B_T === undefined ? undefined : times(targets_B_T),
    }),
  };
}

function allNeeds(losses: readonly Loss[]): LossNeeds {
  const some = (need: keyof LossNeeds) => losses.some(({ needs }) => needs[need]);
  const [entropies, values, reference, pairs] = [some("entropies"), some("values"), some("reference"), some("pairs")];
  return { entropies, values, reference, pairs, ...(some("targets") ? { targets: true } : {}) };
}
