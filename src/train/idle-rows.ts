import type { Loss } from "../loss/loss.ts";
import { totalsOf } from "../loss/totals.ts";
import type { LearnRow } from "./learn-row.ts";

/**
 * Rows that a loss has nothing to say about, so that no forward pass is made for them: their advantages are 0, and so are their
 * derivatives, for the old policy as for another one. Losses that need more than log-probabilities have something to say.
 */
export function idleRows(loss: Loss, rows: readonly LearnRow[]): ReadonlySet<unknown> {
  const { entropies, values, reference, pairs } = loss.needs;
  if (entropies || values || reference || pairs) return new Set();
  const flat = rows.filter(({ advantages_T }) => advantages_T.every((advantage) => advantage === 0));
  if (flat.length === 0) return new Set();
  const totals = totalsOf(rows);
  const slopesAt = (distance: number) =>
    loss.compute(
      flat.map((row) => ({ ...row, logprobs_T: row.oldLogprobs_T.map((logprob) => logprob - distance) })),
      totals,
    ).derivatives.logprobs_B_T;
  // a penalty on leaving the old policy has no slope at it, but has one elsewhere
  const probes = [slopesAt(0), slopesAt(1)];
  return new Set(flat.filter((_, i) => probes.every((slopes_B_T) => slopes_B_T[i].every((slope) => slope === 0))));
}
