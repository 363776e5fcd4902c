import { aboutRun, busyWarning } from "../about-run.ts";
import type { Benchmark } from "../benchmark.ts";
import { parseJsonOption } from "../json-option.ts";
import { writePages, writeRecord } from "../pages.ts";
import { type ArmRecord, runArms, settings } from "./arms.ts";
import { type ArealResults, arealMarkdown, arealPages } from "./report.ts";

const help = `AReaL's table on a small world: held-out success and rollouts a second by staleness, with and without decoupled PPO, and with
sequences that are interrupted, kept or waited for. Takes minutes. Writes bench/results/areal.json and docs/results/areal.md.

Usage: npm run bench -- areal [options]

  --json  print the records as one JSON object

Example:
  npm run bench -- areal
`;

const seeds = [0, 1, 2, 3, 4];

export const arealBenchmark: Benchmark = {
  name: "areal",
  summary: "staleness by decoupled and naive PPO, on a small world",
  help,
  async run(args, { root, signal, progress }) {
    const { json } = parseJsonOption("areal", args);
    const about = aboutRun("areal", args, root);
    const warning = busyWarning(about);
    if (warning !== undefined) progress(warning);
    const records: ArmRecord[] = [];
    for (const seed of seeds) {
      for await (const record of runArms(seed, signal)) {
        records.push(record);
        const { staleness, method, interrupt, before, after, rolloutsPerSecond, age } = record;
        const rate = `${rolloutsPerSecond.toFixed(0)} rollouts a second, age ${age.toFixed(1)}`;
        progress(`seed ${seed}, ${staleness ?? "∞"} ${method} ${interrupt}: ${before} -> ${after}, ${rate}`);
      }
    }
    const versions = { node: process.versions.node };
    const results: ArealResults = { about, versions, settings, records };
    writeRecord(root, "areal", results);
    writePages(root, arealPages(root));
    console.log(json ? JSON.stringify(results) : arealMarkdown(results));
  },
};
