import { aboutLine } from "../about-run.ts";
import { formatMegabytes, formatNumber, markdownTable, type Table } from "../table.ts";
import type { EngineResults, Summary } from "./results.ts";

export function engineTable(summary: readonly Summary[]): Table {
  const rows = summary.map((one, index) => [
    one.comparison === summary[index - 1]?.comparison ? "" : one.comparison,
    one.isBaseline ? `${one.name} *` : one.name,
    formatNumber(one.tokensPerSecond),
    `${(one.spread * 100).toFixed(0)}%`,
    formatNumber(one.seconds),
    one.name === "Ludus" ? "" : `${one.ludusSpeed.toFixed(2)}x`,
    formatMegabytes(one.peakBytes),
    one.name === "Ludus" || one.ludusMemory === undefined ? "" : `${one.ludusMemory.toFixed(2)}x`,
  ]);
  const head = ["work", "by", "tokens/s", "spread", "seconds", "Ludus' speed", "peak memory", "Ludus' memory"];
  return [head, ...rows];
}

export const engineNotes =
  "Medians. spread: the middle half of the runs, over the median. *: the baseline, the fastest of its kind without " +
  "compilation. Ludus' speed and memory: as a multiple of this line's.";

export function engineMarkdown(results: EngineResults): string {
  const { train_vs_torch, sample_vs_generate, grpo_step_vs_trl } = results.ratios;
  return `# The embedded engine beside PyTorch, transformers and TRL

Made by \`${results.about.command}\`; every run is in [bench/results/engine.json](../../bench/results/engine.json), what is compared
and how in [bench/README.md](../../bench/README.md). A Qwen2 model of ${(results.parameters / 1e6).toFixed(2)}M parameters in float32, ${results.rounds} rounds.

| | Ludus is faster by |
|---|--:|
| forward and backward pass, 16 x 128 tokens, against PyTorch eager | ${train_vs_torch.toFixed(2)}x |
| sampling, 64 sequences of 128 new tokens, against transformers \`generate\` | ${sample_vs_generate.toFixed(2)}x |
| a whole GRPO step, 64 completions, against TRL \`GRPOTrainer\` | ${grpo_step_vs_trl.toFixed(2)}x |

${markdownTable(engineTable(results.summary))}

${engineNotes}

${aboutLine(results.about, results.versions, results.coresOfOthers)}
`;
}
