import type { Env } from "../../src/env/env.ts";
import {
  bandit,
  countdown,
  frozenLake,
  functionCalling,
  household,
  keyDoor,
  lock,
  miniForms,
  retailDesk,
  searchQa,
  sokoban,
  virtualScreen,
  webShop,
} from "../../src/env/environments/index.ts";

export interface BenchWorld {
  // biome-ignore lint/suspicious/noExplicitAny: environments of any data
  make(): Env<any, any>;
  /** In what its tasks differ from the environment's defaults. */
  about: string;
  /** Held-out tasks, "test" by default. */
  split?: string;
}

/** The shipped environments, each as hard as it is meant to be learned. */
export const benchWorlds: Readonly<Record<string, BenchWorld>> = {
  // the arms of the test split have names that occur nowhere in training: nothing could be learned about them
  bandit: { make: () => bandit(), about: "two arms, in either order", split: "train" },
  lake: { make: () => frozenLake({ isSlippery: false }), about: "FrozenLake 4x4, firm" },
  ice: { make: () => frozenLake(), about: "FrozenLake 4x4, slippery" },
  "sokoban-5": { make: () => sokoban({ maxSolution: 5 }), about: "6x6, one box, up to five moves" },
  "sokoban-10": { make: () => sokoban({ maxSolution: 10 }), about: "6x6, one box, up to ten moves" },
  "countdown-3": { make: () => countdown({ counts: [3] }), about: "three numbers, answered at once" },
  "countdown-3-working": {
    make: () => countdown({ counts: [3], style: "working" }),
    about: "three numbers, worked out before the answer",
  },
  "function-calling": { make: () => functionCalling(), about: "eight tools, one or two calls" },
  "search-qa": {
    make: () => searchQa({ kb: "per-task", entities: 40, maxHops: 3 }),
    about: "up to three hops, knowledge of its own for every task",
  },
  "mini-forms": { make: () => miniForms(), about: "all kinds of forms" },
  "key-door": { make: () => keyDoor(), about: "a corridor of eight actions" },
  lock: { make: () => lock(), about: "four digits, one try" },
  household: { make: () => household(), about: "all chores" },
  screen: { make: () => virtualScreen(), about: "grounding: one action on one screen" },
  "screen-episodes": { make: () => virtualScreen({ task: "episode" }), about: "episodes of several screens" },
  "web-shop": { make: () => webShop(), about: "200 products" },
  retail: { make: () => retailDesk(), about: "one or two requests" },
};
