import type { Command } from "../command.ts";
import { type OptionTable, onlyArguments, parseOptions } from "../parse-options.ts";
import { stoppable } from "../stoppable.ts";

const options = {
  format: {
    type: "string",
    value: "format",
    choices: ["trajectories", "chat", "sharegpt", "csv-metrics", "tensorboard", "huggingface", "onnx", "gguf"],
    summary: "Output format, one of the above; trajectories by default",
  },
  where: { type: "string", value: "condition", isMany: true, summary: "Export only episodes that match" },
  out: {
    type: "string",
    value: "path",
    summary: "Output path; stdout by default; episodes are written as Parquet to a .parquet file",
  },
  file: {
    type: "string",
    value: "file.ts",
    summary: "chat, sharegpt: the run's training file, for the first messages",
  },
  checkpoint: {
    type: "string",
    value: "step|best|last",
    summary: "huggingface, onnx, gguf: which checkpoint; last by default",
  },
  type: {
    type: "string",
    value: "f32|f16",
    choices: ["f32", "f16"],
    summary: "gguf: type of the matrices; f32 by default",
  },
  adapter: {
    type: "string",
    value: "merged|apart",
    choices: ["merged", "apart"],
    summary: "gguf: a LoRA adapter within its base, or in a file of its own; merged by default",
  },
  base: { type: "string", value: "folder", summary: "gguf: the model that the adapter was trained on" },
  force: { type: "boolean", summary: "Overwrite an existing file" },
  quiet: { type: "boolean", summary: "Do not print how many were written" },
} as const satisfies OptionTable;

export const exportCommand: Command = {
  name: "export",
  summary: "Export a run's episodes, metrics or model to other formats",
  usage: "<run folder>",
  options,
  details: `trajectories  JSON lines with tokens, mask and log-probabilities; ludus can read them back
chat          messages in the format of Hugging Face chat datasets, the policy's turns verbatim
sharegpt      the same as ShareGPT rows
csv-metrics   one row per step, one column per metric
tensorboard   the metrics as an event file in a folder, for tensorboard --logdir
huggingface   a checkpoint's model in a folder, for transformers
onnx          the same with onnx/model.onnx, for ONNX Runtime in Node, Python or the browser
gguf          the same as one file, for llama.cpp, Ollama and LM Studio

Conditions for --where, all of which must match:
success=true  stop=max-turns  reward=0.5..1  step=10..20  tool=search  task=<id>  rollout=<id>
role=<name>  split=held-out  guided=true  text="whole words". Ranges may be open, as in reward=0.5.. and step=..9.
Episodes are those of training, unless split=held-out asks for those of evaluations, failed ones first.`,
  example: "ludus export runs/key-hunt-1 --format chat --where success=true --where step=50.. --out solved.jsonl",
  async run(args, terminal) {
    const { values, positionals } = parseOptions(args, options);
    const [run = ""] = onlyArguments(positionals, { least: 1, most: 1 }, "one run folder", "export");
    const { exportRun } = await import("../export-run.ts");
    const { addressedRuns } = await import("../../store/index.ts");
    return stoppable(terminal, (signal) => exportRun(addressedRuns(), run, values, terminal, signal));
  },
};
