// Grammar-based fuzzers over everything that reads text from outside: formats, JSON, rewards and scorers, renderers, tools, stores,
// servers, model folders. Failing inputs are kept in fixtures/fuzz and tried by `npm test` from then on.
//
//     npm run fuzz -- --minutes 10
//     npm run fuzz -- --minutes 1 --targets formats,scorers --seed 7
//     npm run fuzz -- --minutes 10 --json        one JSON object last

import { parseArgs } from "node:util";
import { nearest } from "../src/nearest.ts";
import { keepFixture } from "../test/fuzz/fixtures.ts";
import { type FuzzReport, runFuzz } from "../test/fuzz/run-fuzz.ts";
import { targets } from "../test/fuzz/targets/index.ts";

const help = `Usage: npm run fuzz -- [options]

  --minutes <n>       how long to go on (1)
  --seed <n>          inputs of another run again; another one each time by default
  --targets <a,b>     of ${targets.map(({ name }) => name).join(", ")} (all)
  --hang <seconds>    an input that takes longer is a hang (10)
  --no-keep           do not write failing inputs to fixtures/fuzz
  --json              one JSON object as the last line

Example: npm run fuzz -- --minutes 10 --targets formats,scorers`;

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "1" },
    seed: { type: "string", default: String(Math.floor(Date.now() / 1000) % 2 ** 15) },
    targets: { type: "string", default: targets.map(({ name }) => name).join(",") },
    hang: { type: "string", default: "10" },
    keep: { type: "boolean", default: true },
    json: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
  allowNegative: true,
});

function number(name: "minutes" | "seed" | "hang", most: number): number {
  const value = Number(values[name]);
  if (value >= 0 && value <= most) return value;
  throw new Error(`--${name}: got "${values[name]}", expected a number from 0 to ${most}`);
}

function chosenTargets(): string[] {
  const names = values.targets.split(",");
  const known = targets.map(({ name }) => name);
  for (const name of names) {
    const meant = nearest(name, known);
    if (!known.includes(name))
      throw new Error(`--targets: got "${name}", expected ${meant === undefined ? known.join(", ") : `"${meant}"`}`);
  }
  return names;
}

async function main(): Promise<void> {
  if (values.help) return console.log(help);
  const seed = Math.floor(number("seed", 2 ** 15));
  const ms = number("minutes", 10_000) * 60_000;
  const names = chosenTargets();
  const stop = new AbortController();
  process.once("SIGINT", () => stop.abort());
  const startedAt = Date.now();
  let toldAt = 0;
  console.error(`fuzzing ${names.join(", ")} with seed ${seed}`);
  const report = await runFuzz({
    module: new URL("../test/fuzz/targets/index.ts", import.meta.url).href,
    targets: targets.filter(({ name }) => names.includes(name)),
    seed,
    ms,
    hangMs: number("hang", 3_600) * 1_000,
    signal: stop.signal,
    onFailure(failure) {
      const kept = values.keep ? `\n  kept: ${keepFixture(failure)}` : "";
      console.error(
        `\n${failure.kind} in ${failure.target}, input ${failure.index} of seed ${seed}: ${failure.error}${kept}`,
      );
    },
    onProgress(now) {
      if (Date.now() - toldAt < (process.stderr.isTTY ? 1_000 : 15_000)) return;
      toldAt = Date.now();
      const line = `${Math.round((toldAt - startedAt) / 1000)} s: ${summary(now)}`;
      process.stderr.write(process.stderr.isTTY ? `\r${line}\u001b[K` : `${line}\n`);
    },
  });
  if (process.stderr.isTTY) process.stderr.write("\n");
  for (const [name, count] of Object.entries(report.tried)) console.error(`  ${name.padEnd(16)}${count}`);
  const { inputs, exceptions, hangs, slowest } = report;
  if (!values.json) console.log(summary(report));
  else
    console.log(
      JSON.stringify({
        inputs,
        exceptions,
        hangs,
        slowest_ms: Math.round(slowest?.ms ?? 0),
        seed,
        tried: report.tried,
      }),
    );
  process.exitCode = exceptions + hangs > 0 ? 1 : 0;
}

function summary({ inputs, exceptions, hangs, slowest }: FuzzReport): string {
  const slow =
    slowest === undefined ? "" : `, slowest ${Math.round(slowest.ms)} ms (${slowest.target} ${slowest.index})`;
  return `${inputs} inputs, ${exceptions} exceptions, ${hangs} hangs${slow}`;
}

try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 2;
}
