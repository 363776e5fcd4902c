import type { Command, Terminal } from "../command.ts";
import { type OptionTable, onlyArguments, parseOptions, usageError } from "../parse-options.ts";
import { stoppable } from "../stoppable.ts";

const options = {
  file: { type: "string", value: "file.ts", summary: "For a run: the file it was trained with" },
  checkpoint: { type: "string", value: "step|best|last", summary: "For a run: which checkpoint; last by default" },
  split: { type: "string", value: "name", summary: "Split of the tasks; test by default" },
  tasks: { type: "number", summary: "Number of tasks; 200 by default" },
  attempts: { type: "number", summary: "Attempts per task; 1 by default; more give pass@k and pass^k" },
  temperature: { type: "real", summary: "Sampling temperature; 1 by default; 0 is greedy" },
  seed: { type: "number", summary: "Sampling seed; 1 by default" },
  set: {
    type: "string",
    value: "path=value",
    isMany: true,
    summary: "Override a field of the configuration, as in ludus train",
  },
  benchmark: {
    type: "string",
    value: "name",
    summary: "A public benchmark instead",
  },
  data: { type: "string", value: "folder", summary: "For a benchmark: its published files" },
  model: {
    type: "string",
    value: "url#name",
    summary: "For a benchmark: an OpenAI-compatible server; the name of its only model may be left out",
  },
  user: {
    type: "string",
    value: "url#name|file",
    summary:
      "For tau-bench and tau2-bench: who plays the user, a model or a file with what is said; --model by default",
  },
  category: { type: "string", value: "name", summary: "For a benchmark: only tasks of a category" },
  against: {
    type: "string",
    value: "file",
    summary: "For a benchmark: a training set, to look for copies of its tasks",
  },
  results: {
    type: "string",
    value: "file",
    summary: "For a benchmark: where attempts are kept, and gone on from; benchmarks/ by default",
  },
  price: { type: "string", value: "in,out", summary: "For a benchmark: dollars for a million tokens read and said" },
  concurrency: { type: "number", summary: "For a benchmark: attempts under way at once; 8 by default" },
  retries: { type: "number", summary: "For a benchmark: tries after the first that the server fails; 4 by default" },
  quiet: { type: "boolean", summary: "Print only the result, no progress" },
  json: { type: "boolean", summary: "Print the report as one JSON value" },
} as const satisfies OptionTable;

type Values = ReturnType<typeof parseOptions<typeof options>>["values"];

const ofBenchmarks = [
  "data",
  "model",
  "user",
  "category",
  "against",
  "results",
  "price",
  "concurrency",
  "retries",
] as const;
const ofRuns = ["file", "checkpoint", "split", "set"] as const;

async function evaluateBenchmark(values: Values, positionals: readonly string[], terminal: Terminal): Promise<number> {
  onlyArguments(positionals, { least: 0, most: 0 }, "no file or run beside --benchmark", "eval");
  const other = ofRuns.find((name) => values[name] !== undefined);
  if (other !== undefined) {
    throw usageError("bad-usage", { got: `--${other} with --benchmark`, expected: "one or the other" });
  }
  const { evalBenchmark } = await import("../eval-benchmark.ts");
  return stoppable(terminal, (signal) => evalBenchmark(values, terminal, signal));
}

function refuseWithout(values: Values): void {
  const other = ofBenchmarks.find((name) => values[name] !== undefined);
  if (other === undefined) return;
  throw usageError("bad-usage", { got: `--${other} without --benchmark`, expected: "--benchmark and its name" });
}

export const evaluate: Command = {
  name: "eval",
  summary: "Evaluate a policy on held-out tasks",
  usage: "<file.ts | run folder | --benchmark name --data folder --model url>",
  options,
  details: `With a file: evaluates the policy of its \`config\`, before any training.
With a run: evaluates one of its checkpoints. A run holds weights and records but no code: pass its training file with --file.
Defaults come from \`config.eval\`.
With a benchmark: asks a model behind a server, with the key in OPENAI_API_KEY where there is one; all tasks and temperature 0 by default.
Benchmarks: 2wiki, alfworld, bfcl, bfcl-exec, bfcl-multi-turn, gaia, gsm8k, hotpotqa, math, musique,
            swe-bench, tau-bench, tau2-bench, webshop.
The same command goes on after Ctrl-C. docs/how-to/benchmarks.md has the files of each benchmark and what is scored.`,
  example: "ludus eval runs/key-hunt-1 --file train.ts --attempts 4 --checkpoint best",
  async run(args, terminal) {
    const { values, positionals } = parseOptions(args, options);
    if (values.benchmark !== undefined) return evaluateBenchmark(values, positionals, terminal);
    refuseWithout(values);
    const expected = "one file or one run folder";
    const [target = ""] = onlyArguments(positionals, { least: 1, most: 1 }, expected, "eval");
    const { evalTarget } = await import("../eval-target.ts");
    const { addressedRuns } = await import("../../store/index.ts");
    return stoppable(terminal, (signal) => evalTarget(addressedRuns(), target, values, terminal, signal));
  },
};
