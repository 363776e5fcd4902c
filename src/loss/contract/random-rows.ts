import type { Rng } from "../../random.ts";
import type { Span } from "../../schema/turn.ts";
import type { LossRow } from "../loss.ts";

/**
 * Rows for tests, with all that a loss may ask for: several turns, tokens left out inside turns, a rollout of two rows, one with
 * nothing to learn from, groups of different sizes, pairs. Ratios are far enough from 1 for every kind of clip.
 */
export function randomRows(rng: Rng): LossRow[] {
  const rollouts = Array.from({ length: 8 }, (_, index) => index);
  return rollouts.flatMap((index) => {
    const fields = {
      rollout: `rollout-${index}`,
      group: `group-${index < 4 ? 0 : index < 6 ? 1 : 2}`,
      reward: rng.next() < 0.5 ? 0 : rng.next(),
      preference: { pair: index >> 1, chosen: index % 2 === 0 },
    };
    const isSilent = index === 6;
    if (index > 0) return [randomRow(rng, { ...fields, id: `row-${index}`, weight: 1 }, isSilent)];
    const weight = 0.2 + 0.6 * rng.next();
    return [
      randomRow(rng, { ...fields, id: "row-0-a", weight }, false),
      randomRow(rng, { ...fields, id: "row-0-b", weight: 1 - weight }, false),
    ];
  });
}

type RowFields = Pick<LossRow, "id" | "rollout" | "group" | "weight" | "reward"> &
  Required<Pick<LossRow, "preference">>;

function randomRow(rng: Rng, fields: RowFields, isSilent: boolean): LossRow {
  const turns = randomTurns(rng);
  const T = turns.at(-1)!.end + rng.integer(3);
  const mask_T = new Uint8Array(T);
  for (const { start, end } of turns) {
    for (let t = start; t < end; t++) mask_T[t] = !isSilent && (t === end - 1 || rng.next() < 0.9) ? 1 : 0;
  }
  const numbers = (make: (t: number) => number) => Float32Array.from({ length: T }, (_, t) => make(t));
  const near = (array_T: Float32Array, distance: number) =>
    numbers((t) => Math.min(-0.01, array_T[t] + distance * rng.normal()));
  const logprobs_T = numbers(() => -0.05 - 3 * rng.next());
  const oldLogprobs_T = near(logprobs_T, 0.5);
  const values_T = numbers(() => rng.normal());
  return {
    ...fields,
    role: "agent",
    turns,
    mask_T,
    tokens_T: Int32Array.from({ length: T }, () => rng.integer(100)),
    logprobs_T,
    oldLogprobs_T,
    behaviourLogprobs_T: near(oldLogprobs_T, 0.5),
    referenceLogprobs_T: near(logprobs_T, 0.5),
    advantages_T: numbers(() => rng.normal()),
    values_T,
    oldValues_T: numbers((t) => values_T[t] + 0.7 * rng.normal()),
    entropies_T: numbers(() => 2 * rng.next()),
    returns_T: numbers(() => rng.next()),
  };
}

function randomTurns(rng: Rng): Span[] {
  const turns: Span[] = [];
  for (let turn = 1 + rng.integer(3), end = 0; turn > 0; turn--) {
    const start = end + 1 + rng.integer(3);
    end = start + 1 + rng.integer(4);
    turns.push({ start, end });
  }
  return turns;
}
