import type { FuzzTarget } from "./target.ts";

/** Targets that break in every way the runner must notice, for its own test. */
export const targets: readonly FuzzTarget<number>[] = [
  { name: "sound", generate: (rng) => rng.integer(100), run: () => {} },
  {
    name: "throws",
    generate: (rng) => rng.integer(100),
    run(input) {
      if (input % 10 === 3) throw new TypeError(`cannot read ${input}`);
    },
  },
  {
    name: "hangs",
    generate: (rng) => rng.integer(1_000_000),
    run(input) {
      while (input % 2 === 0);
    },
  },
  { name: "waits", generate: () => 0, run: () => new Promise(() => setInterval(() => {}, 1_000)) },
  {
    name: "fills the memory",
    generate: () => 0,
    run() {
      const held: number[][] = [];
      for (;;) held.push(new Array(1_000_000).fill(Math.random()));
    },
  },
  { name: "leaves a rejection", generate: () => 0, run: () => void Promise.reject(new Error("left behind")) },
];
