import { availableParallelism } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import { defined } from "../../src/defined.ts";
import type { BenchmarkContext } from "../benchmark.ts";
import type { Child } from "../child/child.ts";
import type { TimedRun } from "../child/protocol.ts";
import { startLudus, startPython } from "../child/start.ts";
import { describeRate } from "../rate.ts";
import type { Comparison, ComparisonName, Contestant } from "./comparisons.ts";

/** One contestant in one comparison, in a process of its own that lives through all rounds. */
export interface Measured {
  comparison: ComparisonName;
  contestant: Contestant;
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

/** Just-in-time compilers need a few rounds until they have seen enough; the same number for everyone. */
const warmUpRounds = 3;

/** Compilers and thread pools of the last contestant come to rest before the next is timed. */
const restMs = 100;

export async function measure(
  comparisons: readonly Comparison[],
  { rounds, python, ...context }: BenchmarkContext & { rounds: number; python: string },
): Promise<Measured[]> {
  const children: Child[] = [];
  try {
    const all: Running[] = [];
    for (const comparison of comparisons) {
      for (const contestant of comparison.contestants) {
        context.progress(`starting ${comparison.name}: ${contestant.name}`);
        const child =
          contestant.role === "ludus"
            ? startLudus(context, contestant.name)
            : startPython(python, context, contestant.name);
        children.push(child);
        all.push(await startContestant(child, comparison, contestant));
      }
    }
    for (let round = 1 - warmUpRounds; round <= rounds; round++) {
      // forth and back, so that nobody always runs after the same one
      for (const one of round % 2 === 0 ? all : all.toReversed()) {
        await pause(restMs, undefined, { signal: context.signal });
        const label = `${round <= 0 ? "warm-up" : `round ${round}/${rounds}`}  ${one.comparison}`;
        context.progress(`${label}  ${one.contestant.name}: ${await runRound(one, round)}`);
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

async function startContestant(child: Child, comparison: Comparison, contestant: Contestant): Promise<Running> {
  const { name, workload, repetitions } = comparison;
  const { variant } = contestant;
  const { versions } = await child.prepare({ workload, variant, threads: availableParallelism() });
  const startBytes = child.memory()?.residentBytes;
  const start = startBytes === undefined ? {} : { startBytes };
  return { comparison: name, contestant, versions, runs: [], ...start, child, repetitions };
}

/** Runs and keeps, or only runs while warming up. Returns the rate, in words. */
async function runRound(one: Running, round: number): Promise<string> {
  const runs: TimedRun[] = [];
  for (let i = 0; i < one.repetitions; i++) runs.push(await one.child.run());
  if (round > 0) one.runs.push(...runs.map((run) => ({ round, ...run })));
  return describeRate(runs);
}
