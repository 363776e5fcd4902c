import { z } from "zod";
import type { OpenedRun } from "./opened-run.ts";
import { usageError } from "./parse-options.ts";

const Best = z.object({ step: z.number() });

/** The step of a run's checkpoint that was asked for: a number, `best` or `last`. */
export async function chooseCheckpoint({ id, reader, checkpoints }: OpenedRun, wanted: string): Promise<number> {
  const best = Best.safeParse(await reader.state("best"));
  const steps = checkpoints.steps();
  const bestStep = best.success ? best.data.step : steps.at(-1);
  const step = wanted === "last" ? steps.at(-1) : wanted === "best" ? bestStep : Number(wanted);
  if (step !== undefined && steps.includes(step)) return step;
  throw usageError("no-such-checkpoint", {
    got: `--checkpoint ${wanted} of ${id}`,
    expected: steps.length === 0 ? "a run with checkpoints" : `one of ${steps.join(", ")}, best or last`,
    hint: "save: { retain } in the configuration says how many are retained.",
  });
}
