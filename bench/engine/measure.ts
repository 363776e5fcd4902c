import { availableParallelism } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import type { BenchmarkContext } from "../benchmark.ts";
import type { Child } from "../child/child.ts";
import type { TimedRun } from "../child/protocol.ts";
import { startLudus, startPython } from "../child/start.ts";
import { median } from "../statistics.ts";
import { formatNumber } from "../table.ts";
import type { Comparison, ComparisonName, Contestant } from "./comparisons.ts";

/** One contestant in one comparison, in a process of its own that lives through all rounds. */
export interface Measured {
  comparison: ComparisonName;
  contestant: Contestant;
  versions: Record<string, string>;
  /** All rounds but the first, which warms up. */
  runs: (TimedRun & { round: number })[];
  startBytes?: number;
  peakBytes?: number;
}

interface Racer extends Measured {
  child: Child;
  repetitions: number;
}

/** Compilers and thread pools of the last contestant come to rest before the next is timed. */
const restMs = 100;

export async function measure(
  comparisons: readonly Comparison[],
  { rounds, python, ...context }: BenchmarkContext & { rounds: number; python: string },
): Promise<Measured[]> {
  const children: Child[] = [];
  try {
    const racers: Racer[] = [];
    for (const comparison of comparisons) {
      for (const contestant of comparison.contestants) {
        context.progress(`starting ${comparison.name}: ${contestant.name}`);
        const child =
          contestant.role === "ludus"
            ? startLudus(context, contestant.name)
            : startPython(python, context, contestant.name);
        children.push(child);
        racers.push(await prepareRacer(child, comparison, contestant));
      }
    }
    for (let round = 0; round <= rounds; round++) {
      // forth and back, so that nobody always runs after the same one
      for (const racer of round % 2 === 0 ? racers : racers.toReversed()) {
        await pause(restMs, undefined, { signal: context.signal });
        const label = `${round === 0 ? "warm-up" : `round ${round}/${rounds}`}  ${racer.comparison}`;
        context.progress(`${label}  ${racer.contestant.name}: ${await runRound(racer, round)}`);
      }
    }
    return racers.map(({ child, repetitions: _, ...measured }) => {
      const peakBytes = child.memory()?.peakBytes;
      return { ...measured, ...(peakBytes === undefined ? {} : { peakBytes }) };
    });
  } finally {
    for (const child of children) child.close();
  }
}

async function prepareRacer(child: Child, comparison: Comparison, contestant: Contestant): Promise<Racer> {
  const { name, workload, repetitions } = comparison;
  const { variant } = contestant;
  const { versions } = await child.prepare({ workload, variant, threads: availableParallelism() });
  const startBytes = child.memory()?.residentBytes;
  const start = startBytes === undefined ? {} : { startBytes };
  return { comparison: name, contestant, versions, runs: [], ...start, child, repetitions };
}

/** Runs and keeps, or only runs in round 0. Returns the rate, in words. */
async function runRound(racer: Racer, round: number): Promise<string> {
  const rates: number[] = [];
  for (let i = 0; i < racer.repetitions; i++) {
    const run = await racer.child.run();
    rates.push(run.tokens / run.seconds);
    if (round > 0) racer.runs.push({ round, ...run });
  }
  return `${formatNumber(median(rates))} tokens/s`;
}
