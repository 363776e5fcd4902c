import type { Command } from "../command.ts";
import { type OptionTable, onlyArguments, parseOptions } from "../parse-options.ts";
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
  quiet: { type: "boolean", summary: "Print only the result, no progress" },
  json: { type: "boolean", summary: "Print the report as one JSON value" },
} as const satisfies OptionTable;

export const evaluate: Command = {
  name: "eval",
  summary: "Evaluate a policy on held-out tasks",
  usage: "<file.ts | run folder>",
  options,
  details: `With a file: evaluates the policy of its \`config\`, before any training.
With a run: evaluates one of its checkpoints. A run holds weights and records but no code: pass its training file with --file.
Defaults come from \`config.eval\`.`,
  example: "ludus eval runs/key-hunt-1 --file train.ts --attempts 4 --checkpoint best",
  async run(args, terminal) {
    const { values, positionals } = parseOptions(args, options);
    const expected = "one file or one run folder";
    const [target = ""] = onlyArguments(positionals, { least: 1, most: 1 }, expected, "eval");
    const { evalTarget } = await import("../eval-target.ts");
    const { addressedRuns } = await import("../../store/index.ts");
    return stoppable(terminal, (signal) => evalTarget(addressedRuns(), target, values, terminal, signal));
  },
};
