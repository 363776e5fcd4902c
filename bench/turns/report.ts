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
    stages.map((stage) => [stage, ({ stages }) => stages[stage]]),
    (value) => formatNumber(value),
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
  const { about, parameters, rounds, ratios, summary, steps, versions, coresOfOthers } = results;
  return `# Training steps of an agent with a tool, beside TRL

Made by \`${about.command}\`; every run is in [bench/results/turns.json](../../bench/results/turns.json), what is compared and how in
[bench/README.md](../../bench/README.md). A Qwen2 model of ${(parameters / 1e6).toFixed(2)}M parameters in float32, ${rounds} rounds.

| a whole step of GRPO, 64 rollouts, against TRL \`GRPOTrainer\` | Ludus is faster by |
|---|--:|
| four turns, a call of a tool in each | ${ratios.turns_vs_trl.toFixed(2)}x |
| one turn, no tool | ${ratios.grpo_step_vs_trl.toFixed(2)}x |

![Seconds by stage](turns.svg)

${markdownTable(engineTable(summary))}

${engineNotes}

## What a step of four turns did

${markdownTable(countTable(steps))}

## Where its seconds go

${markdownTable(stageTable(steps))}

Medians of each stage. Sampling: the time in which at least one turn was awaited from the model. Tools, conversations, rewards: the
rest of the rollouts, which is templates, parsing, tool and environment. TRL's update is all that is in no other stage.

${aboutLine(about, versions, coresOfOthers)}
`;
}
