import type { Rng } from "../random.ts";

/** The same values in random order (Fisher and Yates). */
export function shuffled<Value>(values: Iterable<Value>, rng: Rng): Value[] {
  const order = [...values];
  for (let i = order.length - 1; i > 0; i--) {
    const j = rng.integer(i + 1);
    [order[i], order[j]] = [order[j]!, order[i]!];
  }
  return order;
}
