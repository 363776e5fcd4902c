import type { Command } from "../command.ts";
import { type OptionTable, onlyArguments, parseOptions } from "../parse-options.ts";
import { stoppable } from "../stoppable.ts";

const options = {
  format: {
    type: "string",
    value: "format",
    choices: ["trajectories", "chat", "sharegpt", "csv-metrics", "tensorboard", "huggingface", "onnx"],
    summary: "What is written, one of the above; trajectories by default",
  },
  where: { type: "string", value: "condition", isMany: true, summary: "Only episodes for which this holds" },
  out: {
    type: "string",
    value: "path",
    summary: "Where to; stdout by default. Episodes in a .parquet file are Parquet",
  },
  file: { type: "string", value: "file.ts", summary: "chat, sharegpt: the file that made the run, for first messages" },
  checkpoint: { type: "string", value: "step|best|last", summary: "huggingface, onnx: which one; last by default" },
  force: { type: "boolean", summary: "Replace a file that is there" },
  quiet: { type: "boolean", summary: "Do not say how many were written" },
} as const satisfies OptionTable;

export const exportCommand: Command = {
  name: "export",
  summary: "Write a run's episodes, metrics or model as other programs read them",
  usage: "<run folder>",
  options,
  details: `trajectories  one episode a line, with tokens, mask and log-probabilities; ludus reads them again
chat          messages as Hugging Face chat datasets have them, the policy's words as it said them
sharegpt      the same as ShareGPT rows
csv-metrics   one line a step, one column a metric
tensorboard   the metrics as an event file in a folder, for tensorboard --logdir
huggingface   a checkpoint's model in a folder, for transformers
onnx          the same with onnx/model.onnx, for ONNX Runtime in Node, Python or the browser

Conditions, all of which must hold:
success=true  stop=max-turns  reward=0.5..1  step=10..20  tool=search  task=<id>  rollout=<id>
role=<name>  split=<name>  guided=true  text="whole words". A range may lack an end, as in reward=0.5.. and step=..9.`,
  example: "ludus export runs/key-hunt-1 --format chat --where success=true --where step=50.. --out solved.jsonl",
  async run(args, terminal) {
    const { values, positionals } = parseOptions(args, options);
    const [run = ""] = onlyArguments(positionals, { least: 1, most: 1 }, "one run folder", "export");
    const { exportRun } = await import("../export-run.ts");
    const { sqliteRuns } = await import("../../store/index.ts");
    return stoppable(terminal, (signal) => exportRun(sqliteRuns(), run, values, terminal, signal));
  },
};
