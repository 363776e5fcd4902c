import { chooseStep } from "../checkpoint/index.ts";
import type { OpenedRun } from "./opened-run.ts";
import { usageError } from "./parse-options.ts";

/** The step of a run's checkpoint that was asked for: a number, `best` or `last`. */
export async function chooseCheckpoint({ id, reader, checkpoints }: OpenedRun, wanted: string): Promise<number> {
  const step = await chooseStep(reader, checkpoints, wanted === "last" || wanted === "best" ? wanted : Number(wanted));
  if (step !== undefined) return step;
  const steps = checkpoints.steps();
  throw usageError("no-such-checkpoint", {
    got: `--checkpoint ${wanted} of ${id}`,
    expected: steps.length === 0 ? "a run with checkpoints" : `one of ${steps.join(", ")}, best or last`,
    hint: "save: { retain, retainEvery } in the configuration says which are retained.",
  });
}
