// Sets and unsets V8's flags without end, as starting an embedded engine does once, while other threads compile and run WebAssembly and
// JavaScript and an engine samples; every result is compared bit by bit. A crash or a hang of that process is counted and it is
// started again. Runs on the Node that it is started with.
//
//     npx node scripts/soak-kernels.ts --minutes 60 --json

import { type ChildProcess, fork } from "node:child_process";
import { parseArgs } from "node:util";
import type { Counts } from "./soak/kernel-roles.ts";

const help = `Usage: node scripts/soak-kernels.ts [options]

  --minutes <n>   how long to go on (1)
  --hang <n>      minutes without progress of a thread after which it counts as hanging (10)
  --json          one JSON object as the last line
  --help          show this text

Example: node scripts/soak-kernels.ts --minutes 60 --json`;

interface Ends {
  crashes: number;
  hangs: number;
}

function minutes(name: string, text: string): number {
  const value = Number(text);
  if (value > 0 && value <= 10_000) return value * 60_000;
  throw new Error(`--${name}: got "${text}", expected minutes, from above 0 to 10000`);
}

/** Counters that did not change for too long. A thread that was never seen has not begun yet. */
class Stillness {
  readonly #seen = new Map<string, { count: number; at: number }>();

  isHanging(counts: Counts, hangMs: number, now: number): boolean {
    for (const name of ["samples", "rounds", "other_modules", "functions", "runtimes"]) {
      const count = counts[name] ?? 0;
      if (this.#seen.get(name)?.count !== count) this.#seen.set(name, { count, at: now });
    }
    return [...this.#seen.values()].some(({ at }) => now - at > hangMs);
  }
}

function add(a: Counts, b: Counts): Counts {
  return Object.fromEntries(
    [...new Set([...Object.keys(a), ...Object.keys(b)])].map((k) => [k, (a[k] ?? 0) + (b[k] ?? 0)]),
  );
}

interface Watch {
  until: number;
  hangMs: number;
  signal: AbortSignal;
  onCounts(counts: Counts): void;
}

/** One process, from its start to its end. */
function runOnce({ until, hangMs, signal, onCounts }: Watch): Promise<{ counts: Counts } & Ends> {
  return new Promise((resolve) => {
    const child: ChildProcess = fork(new URL("./soak/kernels-process.ts", import.meta.url));
    const stillness = new Stillness();
    let counts: Counts = {};
    let hangs = 0;
    const stop = () => void (child.connected && child.send("stop", () => {}));
    signal.addEventListener("abort", stop, { once: true });
    const end = setTimeout(stop, until - Date.now());
    const watch = setInterval(() => {
      if (!stillness.isHanging(counts, hangMs, Date.now())) return;
      hangs = 1;
      child.kill("SIGKILL");
    }, 1000);
    child.on("message", (message) => {
      counts = message as Counts;
      onCounts(counts);
    });
    child.once("exit", (code, killed) => {
      clearTimeout(end);
      clearInterval(watch);
      signal.removeEventListener("abort", stop);
      const crashes = hangs === 0 && code !== 0 ? 1 : 0;
      if (crashes > 0) console.error(`the process ended with ${killed ?? `code ${code}`}`);
      resolve({ counts, crashes, hangs });
    });
  });
}

const differing = (counts: Counts) =>
  Object.entries(counts).reduce((sum, [name, count]) => sum + (name.endsWith("_different") ? count : 0), 0);

function line(counts: Counts): string {
  const { windows = 0, other_modules = 0, functions = 0, threads = 0, runtimes = 0, samples = 0, engines = 0 } = counts;
  return `flags set ${windows} times, ${other_modules} runs of other modules, ${functions} functions, ${threads} threads, ${runtimes} web runtimes, ${samples} samples, ${engines} engines; ${differing(counts)} different`;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      minutes: { type: "string", default: "1" },
      hang: { type: "string", default: "10" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return console.log(help);
  const startedAt = Date.now();
  const until = startedAt + minutes("minutes", values.minutes);
  const hangMs = minutes("hang", values.hang);
  const stop = new AbortController();
  process.once("SIGINT", () => stop.abort());
  let total: Counts = {};
  const ends: Ends = { crashes: 0, hangs: 0 };
  let toldAt = 0;
  while (Date.now() < until && !stop.signal.aborted) {
    const { counts, crashes, hangs } = await runOnce({
      ...{ until, hangMs, signal: stop.signal },
      onCounts(now) {
        if (Date.now() - toldAt < (process.stderr.isTTY ? 2_000 : 60_000)) return;
        toldAt = Date.now();
        const text = `${Math.round((toldAt - startedAt) / 1000)} s: ${line(add(total, now))}, ${ends.crashes} crashes, ${ends.hangs} hangs`;
        process.stderr.write(process.stderr.isTTY ? `\r${text}\u001b[K` : `${text}\n`);
      },
    });
    total = add(total, counts);
    ends.crashes += crashes;
    ends.hangs += hangs;
    // a process that cannot even start is not started for an hour
    if (crashes > 0 && (counts.rounds ?? 0) === 0) break;
  }
  const seconds = Math.round((Date.now() - startedAt) / 1000);
  const different = differing(total);
  const about = { node: process.version, v8: process.versions.v8, seconds, ...total, different, ...ends };
  if (process.stderr.isTTY) process.stderr.write("\n");
  console.log(
    values.json
      ? JSON.stringify(about)
      : `Node ${process.version}, ${seconds} s: ${line(total)}, ${ends.crashes} crashes, ${ends.hangs} hangs`,
  );
  process.exitCode = different + ends.crashes + ends.hangs > 0 ? 1 : 0;
}

try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 2;
}
