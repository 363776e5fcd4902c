import type { Command } from "../command.ts";
import { type OptionTable, onlyArguments, parseOptions } from "../parse-options.ts";
import { stoppable } from "../stoppable.ts";

const options = {
  set: { type: "string", value: "path=value", isMany: true, summary: "Override a field of the configuration" },
  run: { type: "string", value: "dir", summary: "Folder of the run; runs/<environment>-<n> by default" },
  from: {
    type: "string",
    value: "run@step",
    summary: "Start from a checkpoint of another run, instead of the warm start",
  },
  optimizer: {
    type: "string",
    choices: ["fresh", "keep"],
    summary: "With --from: whether optimizer state is kept; fresh by default",
  },
  "no-cache": { type: "boolean", summary: "Run the warm start again, although the same one was made before" },
  resume: { type: "boolean", summary: "Resume from the last checkpoint of the run" },
  accept: { type: "string", value: "path,…", isMany: true, summary: "Resume although these settings have changed" },
  events: { type: "string", value: "file", summary: "Append every event to a file, as JSON lines" },
  quiet: { type: "boolean", summary: "Print only the result, no progress" },
  json: { type: "boolean", summary: "Print the result as one JSON value; progress goes to stderr" },
} as const satisfies OptionTable;

export const train: Command = {
  name: "train",
  summary: "Train a policy from a configuration file, and store the run in a folder",
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
algorithm.optimizer.learningRate and others like them. Arguments of functions can only be changed in the file.
Ctrl-C stops after saving the last complete step (exit status 130), twice stops at once; --resume continues from there.
--from runs/first@40 starts from the weights of step 40 of another run; @best is the best by held-out success, @last or no @ the last.
ludus checkpoints runs/first lists them. The model and the tokenizer must be the same; environment, algorithm and seed may differ.
A warm start that was finished once is kept in .warm-starts beside the run, and loaded by runs with the same policy,
demonstrations and options: it leaves the same weights, bit for bit. --no-cache, or imitate({ cache: false }), runs it again.
A run is resumed with the configuration it was stored with. Settings that may change, such as a learning rate, are named when they
differ, and resumed with --accept algorithm.optimizer.learningRate.`,
  example: "ludus train train.ts --set steps=200 --set algorithm.groupSize=4",
  async run(args, terminal) {
    const { values, positionals } = parseOptions(args, options);
    const expected = "one file that exports `config`";
    const [file = ""] = onlyArguments(positionals, { least: 1, most: 1 }, expected, "train");
    const { trainFile } = await import("../train-file.ts");
    return stoppable(terminal, (signal) => trainFile(file, values, terminal, signal));
  },
};
