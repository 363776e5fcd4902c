import type { Engine } from "../../engine/engine.ts";
import type { Command } from "../command.ts";
import type { BenchSizes } from "../measure-engine.ts";
import { type OptionTable, onlyArguments, parseOptions } from "../parse-options.ts";
import { stoppable } from "../stoppable.ts";
import { textTable } from "../text-table.ts";

const options = {
  engine: { type: "string", choices: ["embedded", "torch"], summary: "Compute engine; embedded by default" },
  size: {
    type: "string",
    choices: ["tiny", "small", "base"],
    isMany: true,
    summary: "Model size: 0.3M, 0.8M or 5M parameters; all by default",
  },
  sequences: { type: "number", summary: "Sequences sampled in parallel, and rows per update; 64 by default" },
  tokens: { type: "number", summary: "Tokens sampled per sequence, and tokens per row; 128 by default" },
  rounds: { type: "number", summary: "Repetitions; the median is reported; 5 by default" },
  json: { type: "boolean", summary: "Print one JSON value" },
} as const satisfies OptionTable;

export const bench: Command = {
  name: "bench",
  summary: "Measure how fast this machine samples and trains",
  options,
  details:
    "Uses random weights and tokens: only speed is measured. An update is a forward pass, a backward pass and an optimizer step.",
  example: "ludus bench --size small --rounds 3",
  async run(args, terminal) {
    const { values, positionals } = parseOptions(args, options);
    onlyArguments(positionals, { least: 0, most: 0 }, "options alone, such as --size tiny", "bench");
    const { engine: kind = "embedded", size = ["tiny", "small", "base"], json } = values;
    const { sequences = 64, tokens = 128, rounds = 5 } = values;
    const sizes: BenchSizes = {
      sequences,
      prompt: 32,
      fresh: tokens,
      rows: sequences,
      length: tokens,
      rounds: Math.max(1, rounds),
      warmup: 2,
    };
    const { measureEngine } = await import("../measure-engine.ts");
    return stoppable(terminal, async (signal) => {
      const results: Record<string, number | string>[] = [];
      for (const name of size) {
        if (signal.aborted) break;
        terminal.stderr.write(`${name} …\n`);
        const engine = await openEngine(kind, name, sizes);
        try {
          const measured = await measureEngine(engine, sizes);
          results.push({ size: name, parameters: engine.info.parameters, ...measured });
        } finally {
          await engine.close();
        }
      }
      terminal.stdout.write(json ? `${JSON.stringify(results)}\n` : table(results));
      return 0;
    });
  },
};

async function openEngine(kind: string, size: "tiny" | "small" | "base", sizes: BenchSizes): Promise<Engine> {
  const models = await import("../../engine/model/model-config.ts");
  const contextLength = sizes.prompt + sizes.fresh + 1;
  const model = models[size]({ vocabularySize: 320, contextLength });
  if (kind === "torch") return (await import("../../engine/torch/torch.ts")).torch({ model });
  return (await import("../../engine/embedded/embedded.ts")).embedded({ model });
}

function table(results: readonly Record<string, number | string>[]): string {
  const number = (value: number | string | undefined) => Math.round(Number(value)).toLocaleString("en");
  const rows = results.map(({ size, parameters, sampleTokensPerSecond, trainTokensPerSecond }) => [
    ...[String(size), `${(Number(parameters) / 1e6).toFixed(1)}M`],
    ...[number(sampleTokensPerSecond), number(trainTokensPerSecond)],
  ]);
  return textTable([["size", "parameters", "sampled tokens/s", "trained tokens/s"], ...rows], [1, 2, 3]);
}
