import { z } from "zod";
import type { RunReader } from "../store/index.ts";
import type { Checkpoints } from "./checkpoints.ts";

const Best = z.object({ step: z.int(), success: z.number().optional() });

/** Which checkpoint of a run: a step, the last one, or the best by held-out success. */
export type WantedStep = number | "last" | "best";

/** The best step by held-out success; undefined where nothing was measured. */
export async function bestStep(reader: Pick<RunReader, "state">): Promise<z.infer<typeof Best> | undefined> {
  const best = Best.safeParse(await reader.state("best"));
  return best.success ? best.data : undefined;
}

/** The step that is meant, where there is a checkpoint of it. Without a measurement the best is the last. */
export async function chooseStep(
  reader: Pick<RunReader, "state">,
  checkpoints: Pick<Checkpoints, "steps">,
  wanted: WantedStep,
): Promise<number | undefined> {
  const steps = checkpoints.steps();
  const best = wanted === "best" ? ((await bestStep(reader))?.step ?? steps.at(-1)) : undefined;
  const step = wanted === "last" ? steps.at(-1) : wanted === "best" ? best : wanted;
  return step !== undefined && steps.includes(step) ? step : undefined;
}
