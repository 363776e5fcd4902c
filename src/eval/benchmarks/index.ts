import { LudusError } from "../../errors.ts";
import { nearest } from "../../nearest.ts";
import { alfWorld } from "./alfworld.ts";
import type { Benchmark } from "./benchmark.ts";
import { bfcl } from "./bfcl.ts";
import { bfclExecutable, bfclMultiTurn } from "./bfcl-run.ts";
import { gaia } from "./gaia.ts";
import { gsm8k, math } from "./mathematics.ts";
import { hotpotQa, musique, twoWiki } from "./multi-hop.ts";
import { sweBench } from "./swe-bench.ts";
import { tauBench } from "./tau.ts";
import { tau2Bench } from "./tau2.ts";
import { webShop } from "./web-shop.ts";

/** The public benchmarks that the command line knows, by name. */
export const benchmarks: Readonly<Record<string, Benchmark>> = Object.fromEntries(
  [
    ...[twoWiki, alfWorld, bfcl, bfclExecutable, bfclMultiTurn, gaia, gsm8k, hotpotQa, math, musique],
    ...[sweBench(), tauBench, tau2Bench, webShop],
  ].map((benchmark) => [benchmark.name, benchmark]),
);

/** Throws for a name that is none, with the nearest that is one. */
export function benchmarkOf(name: string): Benchmark {
  if (Object.hasOwn(benchmarks, name)) return benchmarks[name];
  const meant = nearest(name, Object.keys(benchmarks));
  throw new LudusError("unknown-benchmark", {
    got: `"${name}"`,
    expected: `one of ${Object.keys(benchmarks).join(", ")}`,
    ...(meant === undefined ? {} : { hint: `Did you mean "${meant}"?` }),
  });
}
