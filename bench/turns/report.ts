import { aboutLine } from "../about-run.ts";
import { engineNotes, engineTable } from "../engine/report.ts";
import { stackedBars } from "../plot/bars.ts";
import { formatNumber, markdownTable, type Table } from "../table.ts";
import type { StepSummary, TurnsResults } from "./results.ts";

const countNames: Readonly<Record<string, string>> = {
  rollouts: "rollouts",
  turns: "turns",
  calls: "tool calls",
  sampled: "tokens sampled",
  trained: "tokens trained on",
  rows: "tokens of whole rollouts",
};

/** What a step did, side by side: it must be the same. */
export function countTable(steps: readonly StepSummary[]): Table {
  return compared(
    steps,
    Object.entries(countNames).map(([count, name]) => [name, ({ counts }) => Math.round(counts[count])]),
    (value) => value.toLocaleString("en-US"),
  );
}

export function stageTable(steps: readonly StepSummary[]): Table {
  const stages = [...new Set(steps.flatMap(({ stages }) => Object.keys(stages)))];
  return compared(
    steps,
    [
      ...stages.map((stage) => [stage, (step: StepSummary) => step.stages[stage]] as const),
      ["processor time, all threads", ({ processorSeconds }) => processorSeconds],
    ],
    formatNumber,
  );
}

function compared(
  steps: readonly StepSummary[],
  lines: readonly (readonly [string, (step: StepSummary) => number | undefined])[],
  format: (value: number) => string,
): Table {
  const cell = (value: number | undefined) => (value === undefined ? "–" : format(value));
  return [
    ["a step", ...steps.map(({ name }) => name)],
    ...lines.map(([name, read]) => [name, ...steps.map((step) => cell(read(step)))]),
  ];
}

export function turnsPlot({ steps, summary, about }: TurnsResults): string {
  return stackedBars({
    title: `Seconds of a training step: 64 rollouts of 4 turns with a tool, on ${about.cores} cores`,
    description: "Seconds by stage of Ludus and of TRL's GRPOTrainer, from docs/results/turns.md.",
    bars: steps.map(({ name, stages }) => {
      const { seconds } = summary.find((one) => one.comparison === "grpo step 64x4 turns" && one.name === name)!;
      return { name, parts: stages, label: `${formatNumber(seconds)} s` };
    }),
  });
}

export function turnsMarkdown(results: TurnsResults): string {
  const { about, parameters, rounds, ratios, processorRatios, summary, steps, versions, coresOfOthers } = results;
  return `# Training steps of an agent with a tool, beside TRL

Made by \`${about.command}\`; every run is in [bench/results/turns.json](../../bench/results/turns.json), what is compared and how in
[bench/README.md](../../bench/README.md). A Qwen2 model of ${(parameters / 1e6).toFixed(2)}M parameters in float32, ${rounds} rounds.

| a whole step of GRPO, 64 rollouts, against TRL \`GRPOTrainer\` | Ludus is faster by | and needs less processor time by |
|---|--:|--:|
| four turns, a call of a tool in each | ${times(ratios.turns_vs_trl)} | ${times(processorRatios?.turns_vs_trl)} |
| one turn, no tool | ${times(ratios.grpo_step_vs_trl)} | ${times(processorRatios?.grpo_step_vs_trl)} |
${busyNote(coresOfOthers)}
![Seconds by stage](turns.svg)

${markdownTable(engineTable(summary))}

${engineNotes}

## What a step of four turns did

${markdownTable(countTable(steps))}

## Where its seconds go

${markdownTable(stageTable(steps))}

Medians of each stage. Sampling: the time in which at least one turn was awaited from the model. Tools, conversations, rewards: the
rest of the rollouts, which is templates, parsing, tool and environment. TRL's update is all that is in no other stage.
Processor time is that of all threads together; other programs on the machine change it far less than seconds.

${aboutLine(about, versions, coresOfOthers)}
`;
}

const times = (ratio: number | undefined) => (ratio === undefined ? "–" : `${ratio.toFixed(2)}x`);

/** Threads that wait for each other lose far more than their share to other programs, whose part in a time no ratio takes out. */
function busyNote(coresOfOthers: number): string {
  if (coresOfOthers <= 0.2) return "";
  return `
**The machine was busy: other programs kept ${coresOfOthers.toFixed(1)} cores. Seconds of this run say little; processor time says more.**
`;
}
