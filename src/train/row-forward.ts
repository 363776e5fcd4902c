import { defined } from "../defined.ts";
import type { Derivatives, Engine, Forward } from "../engine/engine.ts";
import type { LearnRow } from "./learn-row.ts";
import { together } from "./together.ts";

/** What a forward pass needs of a row. */
export type ForwardRow = Pick<LearnRow, "tokens_T" | "mask_T" | "temperature" | "oldLogprobs_T" | "targets">;

/** What a loss gives back, of which targets are the engine's candidates. */
type RowDerivatives = Omit<Derivatives, "candidates_B_T"> & { readonly targets_B_T?: readonly Float32Array[] };

export interface RowForwardOptions {
  readonly weights: string;
  /** Rows the pass is left out for: their log-probabilities are the old ones. None by default. */
  readonly isIdle?: (row: ForwardRow) => boolean;
  /** The weights are at this version still, which the old log-probabilities are of: nothing is computed twice. */
  readonly knownVersion?: number;
}

/** Numbers of rows in their order, whatever their temperatures. */
export interface RowForward {
  readonly logprobs_B_T: readonly Float32Array[];
  /** Absent where nothing was computed. */
  readonly entropies_B_T: readonly (Float32Array | undefined)[];
  readonly values_B_T?: readonly Float32Array[];
  /** `[T, K]` of each row's targets; absent of rows without. */
  readonly targets_B_T: readonly (Float32Array | undefined)[];
  /** Adds the gradient. False where all derivatives are 0: the optimizer would have nothing to apply. */
  backward(derivatives: RowDerivatives): Promise<boolean>;
}

interface Part {
  readonly indices: readonly number[];
  readonly forward: Forward;
}

/** An engine computes one temperature at a time: a pass for each that occurs. */
export async function forwardRows(
  engine: Engine,
  rows: readonly ForwardRow[],
  { weights, isIdle, knownVersion }: RowForwardOptions,
): Promise<RowForward> {
  const taking = Array.from(rows.keys()).filter((b) => isIdle?.(rows[b]) !== true);
  // all at once: the engine computes one after the other, and need not wait for what is done here in between
  const passes = Array.from(
    Map.groupBy(taking, (b) => rows[b].temperature),
    async ([temperature, indices]) => {
      const count = knownVersion === undefined ? Math.max(...indices.map((b) => rows[b].targets?.count ?? 0)) : 0;
      const batch = {
        rows: indices.map((b) => {
          const { tokens_T, mask_T, targets } = rows[b];
          const candidates = { count, tokens: widened(targets?.tokens, targets?.count ?? 0, count, tokens_T.length) };
          return { tokens: tokens_T, mask: mask_T, ...(count === 0 ? {} : { candidates }) };
        }),
      };
      const sampled =
        knownVersion === undefined
          ? {}
          : { sampled: { logprobs_B_T: indices.map((b) => rows[b].oldLogprobs_T), policyVersion: knownVersion } };
      return { indices, forward: await engine.forward(batch, { temperature, weights, ...sampled }) };
    },
  );
  const parts: readonly Part[] = await together(passes);
  const logprobs_B_T = rows.map(({ oldLogprobs_T }) => oldLogprobs_T);
  const entropies_B_T = rows.map((): Float32Array | undefined => undefined);
  const values_B_T = rows.map(({ mask_T }): Float32Array => new Float32Array(mask_T.length));
  const targets_B_T = rows.map((): Float32Array | undefined => undefined);
  const hasEntropies = knownVersion === undefined && engine.info.lacks?.includes("entropies") !== true;
  for (const { indices, forward } of parts) {
    const count = Math.max(...indices.map((b) => rows[b].targets?.count ?? 0));
    for (const [i, b] of indices.entries()) {
      const { targets, mask_T } = rows[b];
      if (targets !== undefined && forward.candidates_B_T !== undefined)
        targets_B_T[b] = resized(forward.candidates_B_T[i], count, targets.count, mask_T.length);
      logprobs_B_T[b] = forward.logprobs_B_T[i];
      if (hasEntropies) entropies_B_T[b] = forward.entropies_B_T[i];
      if (forward.values_B_T !== undefined) values_B_T[b] = forward.values_B_T[i];
    }
  }
  return {
    logprobs_B_T,
    entropies_B_T,
    targets_B_T,
    ...defined({ values_B_T: engine.info.hasValues ? values_B_T : undefined }),
    backward: (derivatives) => backward(engine, rows, parts, derivatives),
  };
}

async function backward(
  engine: Engine,
  rows: readonly ForwardRow[],
  parts: readonly Part[],
  { targets_B_T, ...derivatives }: RowDerivatives,
): Promise<boolean> {
  let hasGradient = false;
  const kinds = ["logprobs_B_T", "entropies_B_T", "values_B_T"] as const;
  for (const { indices, forward } of parts) {
    const given = kinds.flatMap((kind) => {
      const arrays_B_T = derivatives[kind];
      return arrays_B_T === undefined ? [] : [[kind, indices.map((b) => arrays_B_T[b])] as const];
    });
    const count = Math.max(...indices.map((b) => rows[b].targets?.count ?? 0));
    const ofTargets = (b: number) =>
      resized(targets_B_T![b], rows[b].targets?.count ?? 0, count, rows[b].mask_T.length);
    const candidates = targets_B_T === undefined || count === 0 ? {} : { candidates_B_T: indices.map(ofTargets) };
    const isTaught = candidates.candidates_B_T?.some((array) => array.some((derivative) => derivative !== 0)) === true;
    const matters = given.some(([, arrays]) => arrays.some((array_T, i) => isFelt(array_T, rows[indices[i]].mask_T)));
    if (!matters && !isTaught) continue;
    await engine.backward(forward, { ...Object.fromEntries(given), ...candidates });
    hasGradient = true;
  }
  return hasGradient;
}

function isFelt(derivatives_T: Float32Array, mask_T: Uint8Array): boolean {
  return derivatives_T.some((derivative, t) => derivative !== 0 && mask_T[t] !== 0 && t > 0);
}

/** `[T, from]` as `[T, to]`: what is missing is 0. */
function resized(values: Float32Array, from: number, to: number, T: number): Float32Array {
  if (from === to) return values;
  const result = new Float32Array(T * to);
  for (let t = 0; t < T; t++) {
    result.set(values.subarray(t * from, t * from + Math.min(from, to)), t * to);
  }
  return result;
}

/** Token ids in the same way; of a row without any, all are 0. */
function widened(tokens: Int32Array | undefined, from: number, to: number, T: number): Int32Array {
  const result = new Int32Array(T * to);
  for (let t = 0; tokens !== undefined && t < T; t++) result.set(tokens.subarray(t * from, (t + 1) * from), t * to);
  return result;
}
