import { availableParallelism } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import { defined } from "../../src/defined.ts";
import type { BenchmarkContext } from "../benchmark.ts";
import type { Child } from "../child/child.ts";
import type { TimedRun } from "../child/protocol.ts";
import { startLudus, startPython } from "../child/start.ts";
import { describeRate } from "../rate.ts";
import type { Comparison, ComparisonName, Implementation } from "./comparisons.ts";

/** One implementation in one comparison, in a process of its own that lives through all rounds. */
export interface Measured {
  comparison: ComparisonName;
  implementation: Implementation;
  versions: Record<string, string>;
  /** All rounds but the first ones, which warm up. */
  runs: (TimedRun & { round: number })[];
  startBytes?: number;
  peakBytes?: number;
}

interface Running extends Measured {
  child: Child;
  repetitions: number;
}

/** Just-in-time compilers need a few rounds until they have seen enough; the same number for everyone, and no more than are measured. */
const warmUpRounds = 3;

/** Compilers and thread pools of the last implementation come to rest before the next is timed. */
const restMs = 100;

export async function measure(
  comparisons: readonly Comparison[],
  { rounds, python, ...context }: BenchmarkContext & { rounds: number; python: string },
): Promise<Measured[]> {
  const children: Child[] = [];
  try {
    const all: Running[] = [];
    for (const comparison of comparisons) {
      for (const implementation of comparison.implementations) {
        context.progress(`starting ${comparison.name}: ${implementation.name}`);
        const child =
          implementation.role === "ludus"
            ? startLudus(context, implementation.name)
            : startPython(python, context, implementation.name);
        children.push(child);
        all.push(await startImplementation(child, comparison, implementation));
      }
    }
    for (let round = 1 - Math.min(warmUpRounds, rounds); round <= rounds; round++) {
      // forth and back, so that nobody always runs after the same one
      for (const one of round % 2 === 0 ? all : all.toReversed()) {
        await pause(restMs, undefined, { signal: context.signal });
        const label = `${round <= 0 ? "warm-up" : `round ${round}/${rounds}`}  ${one.comparison}`;
        context.progress(`${label}  ${one.implementation.name}: ${await runRound(one, round)}`);
      }
    }
    return all.map(({ child, repetitions: _, ...measured }) => {
      const peakBytes = child.memory()?.peakBytes;
      return { ...measured, ...defined({ peakBytes }) };
    });
  } finally {
    for (const child of children) child.close();
  }
}

async function startImplementation(
  child: Child,
  comparison: Comparison,
  implementation: Implementation,
): Promise<Running> {
  const { name, workload, repetitions } = comparison;
  const { variant } = implementation;
  const { versions } = await child.prepare({ workload, variant, threads: availableParallelism() });
  const startBytes = child.memory()?.residentBytes;
  const start = startBytes === undefined ? {} : { startBytes };
  return { comparison: name, implementation, versions, runs: [], ...start, child, repetitions };
}

/** Runs and keeps, or only runs while warming up. Returns the rate, in words. */
async function runRound(one: Running, round: number): Promise<string> {
  const runs: TimedRun[] = [];
  for (let i = 0; i < one.repetitions; i++) runs.push(await one.child.run());
  if (round > 0) one.runs.push(...runs.map((run) => ({ round, ...run })));
  return describeRate(runs);
}
