import { aboutLine } from "../about-run.ts";
import { formatNumber, markdownTable, type Table } from "../table.ts";
import { isHeld, maxLatencyMs } from "./held.ts";
import type { RolloutResults } from "./results.ts";

export function heldTable({ held }: RolloutResults): Table {
  const rows = held.map((one) => [
    one.rollouts.toLocaleString("en-US"),
    ...[one.p50Ms, one.p99Ms, one.maxMs].map((milliseconds) => Math.round(milliseconds).toLocaleString("en-US")),
    `${one.disturbed}`,
    `${formatNumber(one.bytesPerRollout / 1024)} kB`,
    one.cores.toFixed(2),
    isHeld(one) ? "yes" : "no",
  ]);
  return [["rollouts", "p50 ms", "p99 ms", "max ms", "disturbed", "heap each", "cores", "held"], ...rows];
}

export function overheadTable({ turnOverhead }: RolloutResults): Table {
  const rows = turnOverhead.map(({ name, microseconds }) => [name, formatNumber(microseconds)]);
  return [["turn", "microseconds"], ...rows];
}

function stepText({ stepOverhead }: RolloutResults): string {
  if (stepOverhead === undefined) return "";
  const { trained, byHand, ratio } = stepOverhead;
  return `
In a step of GRPO on search-QA with 512 rollouts, through \`train()\` without a store, a turn takes ${formatNumber(trained)} µs of the
main thread's processor time; rendering, parsing and searching alone, by hand, ${formatNumber(byHand)} µs: ${formatNumber(ratio)} times as much.
`;
}

export function stepsTable({ envSteps }: RolloutResults): Table {
  const rows = envSteps.map(({ name, stepsPerSecond, episodes }) => [
    name,
    formatNumber(stepsPerSecond),
    `${episodes}`,
  ]);
  return [["environment", "steps/s", "episodes"], ...rows];
}

export const rolloutNotes =
  `Held: all rollouts begin at once in one process, each calls a tool that sleeps a second three times, and all end with their ` +
  `reward; 99 of 100 turns take less than ${maxLatencyMs / 1000} s from the call to the next prompt. Turns and steps: medians and rates in one ` +
  "thread. The engine answers at once, with samples made before: what is measured is the framework.";

export function rolloutMarkdown(results: RolloutResults): string {
  const { about, versions, summary, coresOfOthers } = results;
  return `# Rollouts without a model

Made by \`${about.command}\`; every run is in [bench/results/rollouts.json](../../bench/results/rollouts.json).

| | |
|---|--:|
| rollouts held at once in one process, with a tool of 1 s | ${summary.held.toLocaleString("en-US")} |
| 99th percentile of a turn with that tool, 2,000 rollouts | ${formatNumber(summary.p99_ms)} ms |
| what a turn with a tool call costs besides model and tool | ${formatNumber(summary.turn_overhead_us)} µs |

## Rollouts held

${markdownTable(heldTable(results))}

## A turn

${markdownTable(overheadTable(results))}
${stepText(results)}
## Environments

${markdownTable(stepsTable(results))}

${rolloutNotes}

${aboutLine(about, versions, coresOfOthers)}
`;
}
