import { LudusError } from "../../errors.ts";
import type { World } from "../world.ts";
import type { Search } from "./search.ts";

/**
 * The same world, in which attempts are made with a search: to evaluate with one, or to find what to learn from.
 *
 *     await evaluate(withSearch(env, mcts({ simulations: 32 })), policy);
 *     await train({ env: withSearch(env, mcts()), policy, algorithm: distilSearch(), steps: 20 });
 *
 * What a search chose is not a sample of the policy: learn from it with `distilSearch`, `rejectionTuning`, `dpo`, not with a policy gradient.
 */
export function withSearch<Data, More>(world: World<Data> & More, search: Search): World<Data> & More {
  if (world.open === undefined) {
    throw new LudusError("not-copyable", {
      got: `${world.name}, whose attempts cannot be taken turn by turn`,
      expected: "a world with `open`, such as `defineEnv` makes",
      hint: "Implement `open(task, policy, options)`: an attempt with propose, take and copy.",
    });
  }
  if (world.roles.length > 1) {
    throw new LudusError("bad-config", {
      got: `a search in ${world.name}, with the roles ${world.roles.join(", ")}`,
      expected: "a world with one role: a search makes all turns as good as possible for the first role",
    });
  }
  const attempt: World<Data>["attempt"] = async function attempt(this: World<Data>, task, policy, options) {
    return search.play(({ id, seed }) => this.open!(task, policy, { ...options, id, seed }), options);
  };
  return { ...world, attempt };
}
