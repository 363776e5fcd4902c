import { defined } from "../defined.ts";
import type { Derivatives, Engine, Forward } from "../engine/engine.ts";
import type { LearnRow } from "./learn-row.ts";
import { together } from "./together.ts";

/** What a forward pass needs of a row. */
export type ForwardRow = Pick<LearnRow, "tokens_T" | "mask_T" | "temperature" | "oldLogprobs_T">;

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
  /** Adds the gradient. False where all derivatives are 0: the optimizer would have nothing to apply. */
  backward(derivatives: Omit<Derivatives, "candidates_B_T">): Promise<boolean>;
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
      const batch = { rows: indices.map((b) => ({ tokens: rows[b].tokens_T, mask: rows[b].mask_T })) };
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
  for (const { indices, forward } of parts) {
    for (const [i, b] of indices.entries()) {
      logprobs_B_T[b] = forward.logprobs_B_T[i];
      if (knownVersion === undefined) entropies_B_T[b] = forward.entropies_B_T[i];
      if (forward.values_B_T !== undefined) values_B_T[b] = forward.values_B_T[i];
    }
  }
  return {
    logprobs_B_T,
    entropies_B_T,
    ...defined({ values_B_T: engine.info.hasValues ? values_B_T : undefined }),
    backward: (derivatives) => backward(engine, rows, parts, derivatives),
  };
}

async function backward(
  engine: Engine,
  rows: readonly ForwardRow[],
  parts: readonly Part[],
  derivatives: Omit<Derivatives, "candidates_B_T">,
): Promise<boolean> {
  let hasGradient = false;
  const kinds = ["logprobs_B_T", "entropies_B_T", "values_B_T"] as const;
  for (const { indices, forward } of parts) {
    const given = kinds.flatMap((kind) => {
      const arrays_B_T = derivatives[kind];
      return arrays_B_T === undefined ? [] : [[kind, indices.map((b) => arrays_B_T[b])] as const];
    });
    const matters = given.some(([, arrays]) => arrays.some((array_T, i) => isFelt(array_T, rows[indices[i]].mask_T)));
    if (!matters) continue;
    await engine.backward(forward, Object.fromEntries(given));
    hasGradient = true;
  }
  return hasGradient;
}

function isFelt(derivatives_T: Float32Array, mask_T: Uint8Array): boolean {
  return derivatives_T.some((derivative, t) => derivative !== 0 && mask_T[t] !== 0 && t > 0);
}
