import { copyFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { exportOnnx } from "../engine/embedded/export-onnx.ts";
import { chooseCheckpoint } from "./choose-checkpoint.ts";
import type { OpenedRun } from "./opened-run.ts";

/** What training needs to go on: in a folder of its own, and in checkpoints of earlier versions beside the model. */
const own =
  /^(ludus\.json|checkpoint\.json|(first|second)-moments\..*|weights\..*\.safetensors|value_head\.safetensors)$/;
const weights = /\.safetensors(\.index\.json)?$/;

export interface ModelExport {
  readonly format: "huggingface" | "onnx";
  readonly checkpoint: string;
}

/** Puts a checkpoint's model into a folder that is there, as others read it. Returns the checkpoint's step. */
export async function exportModel(
  run: OpenedRun,
  { format, checkpoint }: ModelExport,
  directory: string,
): Promise<number> {
  const step = await chooseCheckpoint(run, checkpoint);
  const source = run.checkpoints.directory(step);
  const files = readdirSync(source, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => entry.name)
    .filter((name) => !own.test(name) && (format === "huggingface" || !weights.test(name)));
  for (const name of files) copyFileSync(join(source, name), join(directory, name));
  // where transformers.js looks for it
  if (format === "onnx") exportOnnx(source, join(directory, "onnx"));
  return step;
}
