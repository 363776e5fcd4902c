import { createRng, type Rng } from "../../random.ts";
import type { CreditRow, CreditTurn } from "../credit.ts";

const groups = [
  { group: "a", domain: "math", role: "solver", rollouts: 4 },
  { group: "b", domain: "code", role: "solver", rollouts: 3 },
  { group: "c", domain: "math", role: "proposer", rollouts: 4 },
  { group: "equal", domain: "math", role: "solver", rollouts: 3, reward: 1 },
  { group: "alone", domain: "code", role: "proposer", rollouts: 1 },
];

/** A batch with everything a credit may need: forced tokens, turns without a sampled token, equal rewards, a group of one. */
export function sampleRows(seed: number): CreditRow[] {
  const rng = createRng(seed);
  return groups.flatMap(({ rollouts, reward, ...fields }) =>
    Array.from({ length: rollouts }, (_, g) => {
      const tokens = sampleTokens(rng);
      const turnRewards = tokens.turns.reduce((sum, turn) => sum + turn.reward, 0);
      return {
        ...fields,
        ...tokens,
        rollout: `${fields.group}/${g}`,
        reward: reward ?? turnRewards + (rng.next() < 0.5 ? 1 : 0),
        baseline: rng.next(),
        weight: 1,
        isLast: true,
      };
    }),
  );
}

function sampleTokens(rng: Rng): Pick<CreditRow, "mask_T" | "turns" | "values_T" | "ratios_T"> {
  const mask = [0, 0];
  const turns: CreditTurn[] = [];
  const count = 2 + rng.integer(3);
  for (let k = 0; k < count; k++) {
    const start = mask.length;
    // the second turn of some rollouts is all forced
    const isForced = k === 1 && rng.next() < 0.3;
    if (rng.next() < 0.3) mask.push(0);
    for (let i = rng.integer(3); i >= 0; i--) mask.push(isForced ? 0 : 1);
    turns.push({ start, end: mask.length, reward: rng.next() < 0.5 ? rng.next() : 0, stateKey: `s${rng.integer(3)}` });
    for (let i = rng.integer(3); i > 0; i--) mask.push(0);
  }
  const sampled = (draw: () => number) => Float32Array.from(mask, (isSampled) => (isSampled === 1 ? draw() : 0));
  const values_T = sampled(() => rng.normal());
  const ratios_T = sampled(() => Math.exp(0.3 * rng.normal()));
  return { mask_T: Uint8Array.from(mask), turns, values_T, ratios_T };
}

/** The same rollout as two rows, the second starting with turn `k`. */
export function cutRow(row: CreditRow, k: number): [CreditRow, CreditRow] {
  const cut = row.turns[k].start;
  const part = (from: number, to: number): CreditRow => ({
    ...row,
    mask_T: row.mask_T.slice(from, to),
    turns: row.turns
      .filter(({ start }) => start >= from && start < to)
      .map((turn) => ({ ...turn, start: turn.start - from, end: turn.end - from })),
    values_T: row.values_T!.slice(from, to),
    ratios_T: row.ratios_T!.slice(from, to),
    weight: row.weight / 2,
    isLast: row.isLast && to === row.mask_T.length,
  });
  return [part(0, cut), part(cut, row.mask_T.length)];
}
