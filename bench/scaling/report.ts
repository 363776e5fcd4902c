import { aboutLine } from "../about-run.ts";
import { linePlot, type Panel } from "../plot/line-plot.ts";
import { formatNumber, markdownTable, type Table } from "../table.ts";
import { growthMarkdown } from "./growth/report.ts";
import type { PointSummary, Rate, ScalingResults } from "./results.ts";

const percent = ({ share }: Rate) => `${Math.round(share * 100)}%`;
const millions = (parameters: number) => `${formatNumber(parameters / 1e6)}M`;

export function scalingTable(summary: readonly PointSummary[], series: PointSummary["series"]): Table {
  const cells = (rate: Rate | undefined) =>
    rate === undefined
      ? ["–", "–", "–"]
      : [formatNumber(rate.tokensPerSecond), formatNumber(rate.gigaflops), percent(rate)];
  const rows = summary
    .filter((point) => point.series === series)
    .map((point) => [
      ...(series === "size" ? [millions(point.parameters), `${point.layers} x ${point.width}`] : [`${point.length}`]),
      `${point.trainRows}`,
      ...cells(point.train),
      ...cells(point.torchTrain),
      `${point.sampleRows}`,
      ...cells(point.sample),
    ]);
  const rate = (who: string) => [`${who} tokens/s`, "GFLOP/s", "share"];
  const first = series === "size" ? ["parameters", "layers x width"] : ["length"];
  return [[...first, "rows", ...rate("training"), ...rate("PyTorch"), "rows", ...rate("sampling")], ...rows];
}

export function scalingPlot({ summary, machineGigaflops, about }: ScalingResults): string {
  const panel = (series: PointSummary["series"]): Panel["lines"] => {
    const members = summary.filter((point) => point.series === series);
    const line = (name: string, pick: (point: PointSummary) => Rate | undefined) => ({
      name,
      points: members.flatMap((point) => {
        const rate = pick(point);
        if (rate === undefined) return [];
        const x = series === "size" ? point.parameters : point.length;
        return [{ x, y: rate.tokensPerSecond, label: percent(rate) }];
      }),
    });
    const lines = [
      line("Ludus, training", (point) => point.train),
      line("PyTorch, training", (point) => point.torchTrain),
      line("Ludus, sampling", (point) => point.sample),
    ];
    return lines.filter(({ points }) => points.length > 0);
  };
  const vertical = { label: "tokens per second", format: (value: number) => shortNumber(value) };
  const machine = `${Math.round(machineGigaflops)} GFLOP/s`;
  return linePlot({
    title: `The embedded engine as model and sequence grow, on ${about.cores} cores`,
    description: `Tokens per second over model size and over sequence length, from docs/results/scaling.md. The machine multiplies matrices at ${machine}.`,
    panels: [
      {
        title: "Model size, at length 256",
        horizontal: { label: "parameters", at: [3e5, 1e6, 3e6, 1e7, 3e7, 1e8], format: shortNumber },
        vertical,
        lines: panel("size"),
      },
      {
        title: "Sequence length, at 0.84M parameters",
        horizontal: { label: "tokens", at: [64, 128, 256, 512, 1024, 2048], format: String },
        vertical,
        lines: panel("length"),
      },
    ],
    note: `Percentages: the share of the machine's own matrix-product rate, ${machine} in the same run.`,
  });
}

function shortNumber(value: number): string {
  if (value >= 1e6) return `${value / 1e6}M`;
  return value >= 1e4 ? `${value / 1e3}k` : value.toLocaleString("en-US");
}

export const scalingNotes =
  "Medians. GFLOP/s counts what the result needs: 6 operations per parameter and token (2 when sampling) and the causal " +
  "half of attention. share: of the machine's own rate, that of a square matrix product on all cores. Sampling has a " +
  "prompt of half the length and makes the other half; its tokens/s counts the new ones.";

/** Where a rate is nearest to the machine's, and how far it falls on either side. */
function whereItFalls(summary: readonly PointSummary[], series: PointSummary["series"]): string {
  const members = summary.filter((point) => point.series === series);
  const name = (point: PointSummary) => (series === "size" ? millions(point.parameters) : `length ${point.length}`);
  const part = (work: string, pick: (point: PointSummary) => Rate) => {
    const best = members.reduce((high, other) => (pick(other).share > pick(high).share ? other : high));
    const ends = [members[0], members.at(-1)!].filter((point) => point !== best);
    const fallen = ends.map((point) => `${percent(pick(point))} at ${name(point)}`).join(" and ");
    return `${work} reaches ${percent(pick(best))} of the machine's rate at ${name(best)}; it is ${fallen}`;
  };
  return `${part("Training", ({ train }) => train)}. ${part("Sampling", ({ sample }) => sample)}.`;
}

// what follows from the operations themselves, however the engine orders them
const whySize =
  "Norms, activations, softmax and copies take time and count as no operations; they weigh more the narrower the model. " +
  "Sampling takes one step per token with few rows, and each step reads every weight.";
const whyLength =
  "Attention's scores grow with the square of the length, and are read and written besides being multiplied. " +
  "Sampling reads a row's whole cache for each new token.";

export function scalingMarkdown(results: ScalingResults): string {
  const { about, versions, summary, machineGigaflops, coresOfOthers } = results;
  return `# How the embedded engine scales

Made by \`${about.command}\`; every run is in [bench/results/scaling.json](../../bench/results/scaling.json).
The machine multiplies square matrices at ${Math.round(machineGigaflops)} GFLOP/s.

![Tokens per second over model size and sequence length](scaling.svg)

## Model size, at length 256

${markdownTable(scalingTable(summary, "size"))}

${whereItFalls(summary, "size")} ${whySize}

## Sequence length, at ${millions(summary.find(({ series }) => series === "length")!.parameters)} parameters

${markdownTable(scalingTable(summary, "length"))}

${whereItFalls(summary, "length")} ${whyLength}

${scalingNotes}

${aboutLine(about, versions, coresOfOthers)}
${growthMarkdown(results.growth ?? {})}`;
}
