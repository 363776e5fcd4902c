import { aboutLine } from "../../about-run.ts";
import { formatNumber, markdownTable, type Table } from "../../table.ts";
import { concurrentModel } from "./concurrent.ts";
import { growthModel } from "./conversations.ts";
import type { Growth, HistoryPoint, Measured, Reuse, RolloutsPoint, TurnsPoint } from "./records.ts";

const millions = (parameters: number) => `${formatNumber(parameters / 1e6)}M`;
const milliseconds = (seconds: number) => formatNumber(seconds * 1000);
const reuseHead = (name: string) => [`${name} ms`, "limit ms", "prefilled"];
const reuseCells = ({ seconds, gigaflop, prefilled }: Reuse, machine: number) => [
  milliseconds(seconds),
  milliseconds(gigaflop / machine),
  prefilled.toLocaleString("en-US"),
];

export function turnsTable(
  { points, machineGigaflops: machine }: Measured<TurnsPoint>,
  series: TurnsPoint["series"],
): Table {
  const rows = points
    .filter((point) => point.series === series)
    .map(({ turns, newTokens, reused, anew }) => [
      `${turns}`,
      `${newTokens}`,
      ...reuseCells(reused, machine),
      ...reuseCells(anew, machine),
      `${formatNumber(anew.seconds / reused.seconds)}x`,
    ]);
  return [["turns", "new tokens", ...reuseHead("Ludus"), ...reuseHead("computed anew"), "anew / Ludus"], ...rows];
}

export function historyTable({ points, machineGigaflops: machine }: Measured<HistoryPoint>): Table {
  const { layers, keyValueHeads, headWidth } = growthModel.config;
  // keys and values of float32
  const tokenBytes = 2 * 4 * layers * keyValueHeads * headWidth;
  const rows = points.map(({ history, rollouts, newTokens, reused, anew }) => [
    `${history}`,
    ...reuseCells(reused, machine),
    formatNumber((rollouts * newTokens * history * tokenBytes) / 1e6),
    ...reuseCells(anew, machine),
    `${formatNumber(anew.seconds / reused.seconds)}x`,
  ]);
  return [["history", ...reuseHead("Ludus"), "cache read MB", ...reuseHead("computed anew"), "anew / Ludus"], ...rows];
}

export function rolloutsTable(
  { points, machineGigaflops: machine }: Measured<RolloutsPoint>,
  engine: RolloutsPoint["engine"],
): Table {
  const rows = points
    .filter((point) => point.engine === engine)
    .map(({ toolMs, rollouts, seconds, toolSeconds, gigaflop, microsecondsPerTurn, disturbed }) => [
      `${toolMs / 1000}`,
      `${rollouts}`,
      formatNumber(seconds),
      formatNumber(Math.max(toolSeconds, gigaflop / machine)),
      formatNumber(microsecondsPerTurn),
      `${disturbed}`,
    ]);
  return [["tool s", "rollouts", "seconds", "limit s", "processor µs a turn", "disturbed"], ...rows];
}

type Part = NonNullable<Growth[keyof Growth]>;

function madeBy({ about, versions, coresOfOthers, machineGigaflops }: Part): string {
  const machine = `The machine multiplies matrices at ${Math.round(machineGigaflops)} GFLOP/s.`;
  return `Made by \`${about.command}\`. ${machine} ${aboutLine(about, versions, coresOfOthers)}`;
}

const reuseNote =
  "limit: the operations that are needed, at the machine's own matrix-product rate. prefilled: tokens of one rollout that are run through " +
  "the model without being sampled, counted from the requests. computed anew: the same engine in the same run, told to forget the rollout before each turn.";

function turnsPart(growth: Growth): string {
  const { turns } = growth;
  if (turns === undefined) return "";
  const { rollouts } = turns.points[0];
  return `
## Number of turns

${rollouts} rollouts side by side, ${millions(growthModel.parameters)} parameters, a prompt of 64 tokens and 8 more that are read before each further turn.

The same number of new tokens, in more and more turns:

${markdownTable(turnsTable(turns, "same total"))}

The same number of new tokens in each turn:

${markdownTable(turnsTable(turns, "same per turn"))}

${reuseNote}

${madeBy(turns)}
`;
}

function historyPart({ history }: Growth): string {
  if (history === undefined) return "";
  const { rollouts, observed, newTokens } = history.points[0];
  return `
## Length of the history

One turn of ${rollouts} rollouts side by side, ${millions(growthModel.parameters)} parameters: ${observed} tokens are read and ${newTokens} sampled, after a history that earlier turns have computed.

${markdownTable(historyTable(history))}

With the cache a turn prefills what is new, whatever the length of its history. Every token that is sampled still reads the keys and values of all of it (cache read: of all rollouts, for the new tokens), which a limit of operations does not count. ${reuseNote}

${madeBy(history)}
`;
}

function rolloutsPart({ rollouts }: Growth): string {
  if (rollouts === undefined) return "";
  const { turns } = rollouts.points[0];
  return `
## Rollouts at once

All begin at once and take ${turns} turns with ${turns - 1} tool calls between them. Without a model, what is left is the framework:

${markdownTable(rolloutsTable(rollouts, "none"))}

With the embedded engine, ${millions(concurrentModel.parameters)} parameters, ${concurrentModel.turnTokens} tokens a turn at most:

${markdownTable(rolloutsTable(rollouts, "embedded"))}

limit: the time of the tools, or of the model's operations at the machine's own matrix-product rate where that is more. disturbed: rollouts that
did not end as they should.

${madeBy(rollouts)}
`;
}

export function growthMarkdown(growth: Growth): string {
  return turnsPart(growth) + historyPart(growth) + rolloutsPart(growth);
}

export function growthTables(growth: Growth): Table[] {
  const { turns, history, rollouts } = growth;
  return [
    ...(turns === undefined ? [] : [turnsTable(turns, "same total"), turnsTable(turns, "same per turn")]),
    ...(history === undefined ? [] : [historyTable(history)]),
    ...(rollouts === undefined ? [] : [rolloutsTable(rollouts, "none"), rolloutsTable(rollouts, "embedded")]),
  ];
}
