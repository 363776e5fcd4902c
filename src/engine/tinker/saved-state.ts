import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { LudusError } from "../../errors.ts";
import { readModelJson } from "../../model-file.ts";
import { policyWeights } from "../engine.ts";

const file = "tinker.json";

const SavedState = z.object({
  format: z.literal(1),
  model: z.string(),
  rank: z.number(),
  weights: z
    .array(
      z.object({
        name: z.string(),
        path: z.string(),
        version: z.number().int(),
        isTrainable: z.boolean(),
      }),
    )
    .refine((sets) => sets.some(({ name }) => name === policyWeights), "no policy"),
});

type SavedWeights = z.output<typeof SavedState>["weights"];

/** A checkpoint on this side: the weights and the optimizer's state are at the server, under these paths. */
export function writeSavedState(
  directory: string,
  state: { model: string; rank: number; weights: SavedWeights },
): void {
  const training = join(directory, "training");
  mkdirSync(training, { recursive: true });
  writeFileSync(join(training, file), `${JSON.stringify({ format: 1, ...state }, undefined, 2)}\n`);
}

export function readSavedState(directory: string, { model, rank }: { model: string; rank: number }): SavedWeights {
  const training = join(directory, "training");
  if (!existsSync(join(training, file))) {
    throw new LudusError("checkpoint-not-found", {
      got: `no training/${file} in ${directory}`,
      expected: "a folder that this engine saved",
      hint: "Weights cannot be sent to a Tinker server: start it on a model, and train an adapter there.",
    });
  }
  const read = SavedState.safeParse(readModelJson(training, file));
  if (!read.success) {
    throw new LudusError("bad-model-folder", {
      got: `training/${file} of ${directory}: ${read.error.issues[0].message}`,
      expected: "what this engine wrote",
    });
  }
  if (read.data.rank === rank && read.data.model === model) return read.data.weights;
  throw new LudusError("other-model", {
    got: `a checkpoint of ${read.data.model} with rank ${read.data.rank}`,
    expected: `${model} with rank ${rank}`,
  });
}
