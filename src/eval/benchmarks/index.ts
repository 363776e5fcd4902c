import { LudusError } from "../../errors.ts";
import { nearest } from "../../nearest.ts";
import type { Benchmark } from "./benchmark.ts";
import { bfcl } from "./bfcl.ts";
import { gaia } from "./gaia.ts";
import { gsm8k, math } from "./mathematics.ts";
import { hotpotQa, musique, twoWiki } from "./multi-hop.ts";

/** The public benchmarks that the command line knows, by name. */
export const benchmarks: Readonly<Record<string, Benchmark>> = Object.fromEntries(
  [twoWiki, bfcl, gaia, gsm8k, hotpotQa, math, musique].map((benchmark) => [benchmark.name, benchmark]),
);

/** What is asked for and not here, with the reason: a shape of it would give another score under the same name. */
const leftOut: Readonly<Record<string, string>> = {
  "tau-bench": "its tools, users and tasks are Python programs; retailDesk() is a world after its retail domain",
  "tau2-bench": "its tools and users are Python programs; retailDesk() is a world after its retail domain",
  webshop: "its shop and search engine are a Python server; webShop() is a world after it, with the published reward",
  alfworld: "its games run in TextWorld, in Python; household() is a world after it",
  "swe-bench": "its tests run in the published container images; sweBenchTasks() reads its tasks",
};

/** Throws for a name that is none, with the nearest that is one. */
export function benchmarkOf(name: string): Benchmark {
  if (Object.hasOwn(benchmarks, name)) return benchmarks[name];
  if (Object.hasOwn(leftOut, name)) {
    throw new LudusError("unknown-benchmark", {
      got: `"${name}", which is not supported: ${leftOut[name]}`,
      expected: `one of ${Object.keys(benchmarks).join(", ")}`,
    });
  }
  const meant = nearest(name, Object.keys(benchmarks));
  throw new LudusError("unknown-benchmark", {
    got: `"${name}"`,
    expected: `one of ${Object.keys(benchmarks).join(", ")}`,
    ...(meant === undefined ? {} : { hint: `Did you mean "${meant}"?` }),
  });
}
