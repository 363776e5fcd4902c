import type { Command } from "../command.ts";
import { type OptionTable, onlyArguments, parseOptions } from "../parse-options.ts";
import { stoppable } from "../stoppable.ts";

const options = {
  set: {
    type: "string",
    value: "path=a,b,…",
    isMany: true,
    summary: "Values of a field; all combinations are trained",
  },
  seeds: { type: "number", summary: "Runs of each combination, with seeds that follow each other; 3 by default" },
  parallel: { type: "number", summary: "Runs at once, which share the cores; 1 by default" },
  name: { type: "string", summary: "Folder below runs/; <file>-sweep by default" },
  from: { type: "string", value: "run@step", summary: "Start every run from a checkpoint, instead of the warm start" },
  "no-cache": { type: "boolean", summary: "Run warm starts again, although the same ones were made before" },
  quiet: { type: "boolean", summary: "Print only the result, no progress" },
  json: { type: "boolean", summary: "Print the result as one JSON value; progress goes to stderr" },
} as const satisfies OptionTable;

export const sweep: Command = {
  name: "sweep",
  summary: "Train a file with several values and seeds, and compare held-out success",
  usage: "<file.ts>",
  options,
  details: `Fields are those of ludus train --set. Every run is a process of its own, in runs/<name>/<setting>/seed-<n>.
Ctrl-C stops all runs after their last whole step; the same command goes on, and repeats no run that has finished. A run that fails
does not end the sweep. The table has the mean of held-out success over seeds with its 95 % interval; settings whose intervals overlap
were not told apart. Runs with another number of threads (--parallel) may differ in their last bits.`,
  example: "ludus sweep train.ts --set algorithm.optimizer.learningRate=1e-4,3e-4,1e-3 --seeds 3 --parallel 2",
  async run(args, terminal) {
    const { values, positionals } = parseOptions(args, options);
    const expected = "one file that exports `config`";
    const [file = ""] = onlyArguments(positionals, { least: 1, most: 1 }, expected, "sweep");
    const { runSweep } = await import("../sweep/run-sweep.ts");
    return stoppable(terminal, (signal) => runSweep(file, values, terminal, signal));
  },
};
