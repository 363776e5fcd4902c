import { LudusError } from "../errors.ts";
import type { TaskSource } from "./task-source.ts";

/** Whole-number weights: `{ easy: { source: a, weight: 3 }, hard: { source: b, weight: 1 } }` is three easy to one hard. */
export type Mixture<Data> = Readonly<Record<string, { readonly source: TaskSource<Data>; readonly weight: number }>>;

/** Several sources in fixed proportions. Each task's domain is the name it has here, unless its source gives one. */
export function mixed<Data>(mixture: Mixture<Data>): TaskSource<Data> {
  const parts = Object.entries(mixture);
  for (const [name, { weight }] of parts) {
    if (Number.isInteger(weight) && weight > 0) continue;
    throw new LudusError("bad-mixture", { got: `weight ${weight} of "${name}"`, expected: "a whole number above 0" });
  }
  const pattern = spread(parts.map(([, { weight }]) => weight));
  const ranks = pattern.map((part, i) => pattern.slice(0, i).filter((other) => other === part).length);

  return {
    name: parts.map(([name]) => name).join("+"),
    splits: parts[0][1].source.splits.filter((split) => parts.every(([, { source }]) => source.splits.includes(split))),
    size: (split) => parts.reduce((sum, [, { source }]) => sum + source.size(split), 0),
    async at(split, index) {
      const place = index % pattern.length;
      const [name, { source, weight }] = parts[pattern[place]];
      const task = await source.at(split, Math.floor(index / pattern.length) * weight + ranks[place]);
      return { ...task, domain: task.domain ?? name };
    },
  };
}

/** Indices of the sources in proportion to their weights, interleaved as evenly as possible. */
function spread(weights: readonly number[]): number[] {
  const total = weights.reduce((a, b) => a + b, 0);
  const given = weights.map(() => 0);
  return Array.from({ length: total }, (_, i) => {
    const owed = weights.map((weight, part) => ((i + 1) * weight) / total - given[part]);
    const part = owed.indexOf(Math.max(...owed));
    given[part]++;
    return part;
  });
}
