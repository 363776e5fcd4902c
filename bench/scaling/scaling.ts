import type { Benchmark } from "../benchmark.ts";
export const scalingBenchmark: Benchmark = { name: "scaling", summary: "", help: "", async run() {} };
