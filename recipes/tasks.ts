import type { Env, Rng } from "ludus";

/** Training tasks from this one on. */
export function from<Data, State>(env: Env<Data, State>, first: number): Env<Data, State> {
  const at: Env<Data, State>["tasks"]["at"] = (split, index) =>
    env.tasks.at(split, split === "train" ? first + index : index);
  return { ...env, tasks: { ...env.tasks, at } };
}

export function shuffled<Item>(items: readonly Item[], rng: Rng): Item[] {
  const order = [...items];
  for (let i = order.length - 1; i > 0; i--) {
    const j = rng.integer(i + 1);
    [order[i], order[j]] = [order[j]!, order[i]!];
  }
  return order;
}
