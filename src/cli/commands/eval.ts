import type { Command } from "../command.ts";
import { type OptionTable, onlyArguments, parseOptions } from "../parse-options.ts";
import { stoppable } from "../stoppable.ts";

const options = {
  file: { type: "string", value: "file.ts", summary: "For a run: the file it was trained with" },
  checkpoint: { type: "string", value: "step|best|last", summary: "For a run: which one; last by default" },
  split: { type: "string", value: "name", summary: "Where tasks come from; test by default" },
  tasks: { type: "number", summary: "How many; 200 by default" },
  attempts: { type: "number", summary: "At each task, 1 by default; more give pass@k and pass^k" },
  temperature: { type: "real", summary: "Of the sampling, 1 by default; 0 is greedy" },
  seed: { type: "number", summary: "The chance of the sampling; 1 by default" },
  set: { type: "string", value: "path=value", isMany: true, summary: "Another value for a field, as in ludus train" },
  quiet: { type: "boolean", summary: "No progress, only the result" },
  json: { type: "boolean", summary: "Print the report as one JSON value" },
} as const satisfies OptionTable;

export const evaluate: Command = {
  name: "eval",
  summary: "Measure a policy on tasks it was not trained on",
  usage: "<file.ts | run folder>",
  options,
  details: `With a file: the policy that its \`config\` makes, before any training.
With a run: one of its checkpoints. A run holds weights and records, no code: name the file that made it with --file.
What \`config.eval\` says holds where no option says otherwise.`,
  example: "ludus eval runs/key-hunt-1 --file train.ts --attempts 4 --checkpoint best",
  async run(args, terminal) {
    const { values, positionals } = parseOptions(args, options);
    const expected = "one file or one run folder";
    const [target = ""] = onlyArguments(positionals, { least: 1, most: 1 }, expected, "eval");
    const { evalTarget } = await import("../eval-target.ts");
    const { sqliteRuns } = await import("../../store/index.ts");
    return stoppable(terminal, (signal) => evalTarget(sqliteRuns(), target, values, terminal, signal));
  },
};
