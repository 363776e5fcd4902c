import type { Command } from "../command.ts";
import { type OptionTable, onlyArguments, parseOptions } from "../parse-options.ts";
import { stoppable } from "../stoppable.ts";

const options = {
  set: { type: "string", value: "path=value", isMany: true, summary: "Another value for a field of the configuration" },
  run: { type: "string", value: "dir", summary: "Where the run is kept; runs/<environment>-<n> by default" },
  resume: { type: "boolean", summary: "Go on with the run that is there, from its last checkpoint" },
  events: { type: "string", value: "file", summary: "Add every event to a file, as lines of JSON" },
  quiet: { type: "boolean", summary: "No progress, only the result" },
  json: { type: "boolean", summary: "Print the result as one JSON value; progress goes to stderr" },
} as const satisfies OptionTable;

export const train: Command = {
  name: "train",
  summary: "Train a policy as a file says, and keep the run in a folder",
  usage: "<file.ts>",
  options,
  details: `The file exports \`config\`: a TrainConfig, or a function that returns one.

  import { fromScratch, grpo, imitate, type TrainConfig } from "ludus";
  import { env } from "./env.ts";
  export const config: TrainConfig = {
    env, policy: fromScratch({ size: "tiny" }), warmStart: imitate(), algorithm: grpo({ groupSize: 8 }), steps: 100,
  };

--set takes fields with plain values: steps, seed, tasksPerStep, save.every, eval.tasks, eval.every, budget.seconds,
earlyStop.success, rollout.limits.turns, warmStart.steps, algorithm.groupSize, algorithm.sampling.temperature,
algorithm.optimizer.learningRate and their like. What a function was made with is changed in the file.
Ctrl-C once stops with the last whole step saved (exit status 130), twice at once; --resume goes on from there.`,
  example: "ludus train train.ts --set steps=200 --set algorithm.groupSize=4",
  async run(args, terminal) {
    const { values, positionals } = parseOptions(args, options);
    const expected = "one file that exports `config`";
    const [file = ""] = onlyArguments(positionals, { least: 1, most: 1 }, expected, "train");
    const { trainFile } = await import("../train-file.ts");
    return stoppable(terminal, (signal) => trainFile(file, values, terminal, signal));
  },
};
