import { aboutLine } from "../about-run.ts";
import { type Pages, readRecord } from "../pages.ts";
import { markdownTable, type Table } from "../table.ts";
import type { ToolsResults } from "../tools/results.ts";
import type { AsyncResults } from "./results.ts";

/** The page on asynchronous training: with the record of `tools`, where there is one. */
export function asyncPages(root: string): Pages {
  const results = readRecord<AsyncResults>(root, "async");
  if (results === undefined) return {};
  return { "docs/results/async.md": asyncMarkdown(results, readRecord<ToolsResults>(root, "tools")) };
}

export function asyncTable({ rounds }: Pick<AsyncResults, "rounds">): Table {
  const rows = rounds.map(({ turns, sync, async, load }) => [
    `${turns}`,
    sync.stepsPerSecond.toFixed(2),
    async.stepsPerSecond.toFixed(2),
    (async.stepsPerSecond / sync.stepsPerSecond).toFixed(1),
    async.trainerWaits!.toFixed(3),
    async.samplerWaits!.toFixed(3),
    async.age!.toFixed(1),
    load.toFixed(1),
  ]);
  const head = [
    "turns",
    "synchronous, steps/s",
    "asynchronous, steps/s",
    "ratio",
    "trainer waits",
    "no rollout",
    "age",
  ];
  return [[...head, "load"], ...rows];
}

function asyncMarkdown(results: AsyncResults, tools: ToolsResults | undefined): string {
  const { about, versions, workload, summary, cluster } = results;
  const { tasksPerStep, groupSize, staleness, toolMedianMs, toolSigma } = workload;
  return `# Rollouts ahead of the updates

Made by \`${about.command}\`; every run is in [bench/results/async.json](../../bench/results/async.json). A model of 0.8M parameters, ${tasksPerStep} groups of ${groupSize} attempts a step, and after each turn a tool that
takes ${toolMedianMs} ms in the median (log-normal, σ ${toolSigma}; it sleeps). *Synchronous* is \`train\`; *asynchronous* is the same with a staleness of ${staleness}, a trainer with one thread and a sampler in another process. Both
take turns. Waiting is a share of the time between two steps; *age* is that of the tokens which were learned from, in steps.

| | measured | goal |
|---|--:|--:|
| asynchronous against synchronous, one turn | ${summary.async_vs_batch_1turn.toFixed(2)} | 1.7 |
| asynchronous against synchronous, three turns | ${summary.async_vs_batch_3turns.toFixed(2)} | 2.0 |
| share of its time that the trainer waits, the larger of both | ${summary.trainer_waits.toFixed(3)} | under 0.1 |
| groups a second through one PostgreSQL, ${summary.workers} workers | ${summary.groups_per_s} | 200, aim 1,000 |

${markdownTable(asyncTable(results))}

The workload was changed after trials, as \`bench/async/workload.ts\` says. Where other processes used the machine (*load* is the load average on ${about.cores} core${about.cores === 1 ? "" : "s"}), ratios say more than rates.
Through PostgreSQL, groups of ${groupSize} attempts with ${cluster.bytesPerGroup.toLocaleString("en-US")} bytes; ${cluster.lost} of ${cluster.groups.toLocaleString("en-US")} lost, ${cluster.twice} twice.
${tools === undefined ? "" : toolsMarkdown(tools)}
${aboutLine(about, versions, 0).replace(/, other processes used .*? meanwhile/, "")}
`;
}

function toolsMarkdown({ about, workload, summary, rounds }: ToolsResults): string {
  const { trajectories, slots, toolMedianMs, toolSigma, toolsAtOnce } = workload;
  const rows = rounds.map(({ turns, batchSeconds, trajectorySeconds }) => [
    `${turns}`,
    batchSeconds.toFixed(1),
    trajectorySeconds.toFixed(1),
    (batchSeconds / trajectorySeconds).toFixed(2),
  ]);
  return `
## Tools by trajectory, tools by batch

Made by \`${about.command}\`, from [bench/results/tools.json](../../bench/results/tools.json): ${trajectories} trajectories over \`ludus tools serve\`'s protocol (Verl-Tool's), ${slots} sampled at once (sampling is simulated), tools of ${toolMedianMs} ms (log-normal, σ ${toolSigma}),
${toolsAtOnce} at once. By trajectory: ${summary.trajectory_vs_batch_1turn.toFixed(2)} times as fast with one turn (published 1.69), ${summary.trajectory_vs_batch_3turns.toFixed(2)} times with three (2.06). Load ${about.loadBefore.toFixed(1)} before.

${markdownTable([["turns", "by batch, s", "by trajectory, s", "ratio"], ...rows])}
`;
}
