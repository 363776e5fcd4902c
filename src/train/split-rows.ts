import type { Rng } from "../random.ts";
import type { TrainRow } from "../schema/train-batch.ts";
import { shuffled } from "./shuffled.ts";

/** Rollouts in random order, in parts of about equal size; rows of one rollout, and of one pair, stay together. */
export function splitRows<Row extends TrainRow>(rows: readonly Row[], parts: number, rng: Rng): Row[][] {
  if (parts <= 1) return [[...rows]];
  const units = shuffled(Map.groupBy(rows, ({ rollout, preference }) => preference?.pair ?? rollout).values(), rng);
  const count = Math.min(parts, units.length);
  const bound = (part: number) => Math.floor((part * units.length) / count);
  return Array.from({ length: count }, (_, part) => units.slice(bound(part), bound(part + 1)).flat());
}
