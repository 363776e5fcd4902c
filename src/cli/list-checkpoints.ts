import { statSync } from "node:fs";
import { bestStep, bytesIn } from "../checkpoint/index.ts";
import { defined } from "../defined.ts";
import { metric } from "../monitor/index.ts";
import type { RunCatalog } from "../store/index.ts";
import type { Screen } from "./command.ts";
import { dateText, figure } from "./number-text.ts";
import { withRun } from "./opened-run.ts";
import { paintFor } from "./paint.ts";
import { textTable } from "./text-table.ts";

export interface ListedCheckpoint {
  readonly step: number;
  readonly directory: string;
  /** Success on held-out tasks, where it was measured at this step. */
  readonly eval?: number;
  readonly bytes: number;
  /** Milliseconds since 1970. */
  readonly saved: number;
  readonly isBest: boolean;
  readonly isLast: boolean;
}

/** The checkpoints of a run, oldest first. */
export async function listCheckpoints(runs: RunCatalog, id: string): Promise<readonly ListedCheckpoint[]> {
  return withRun(runs, id, async ({ reader, checkpoints }) => {
    const steps = checkpoints.steps();
    const best = await bestStep(reader);
    const evaluated = new Map((await reader.series(metric.evalSuccess)).map(({ step, value }) => [step, value]));
    return steps.map((step) => {
      const directory = checkpoints.directory(step);
      return {
        step,
        directory,
        ...defined({ eval: evaluated.get(step) }),
        bytes: bytesIn(directory),
        saved: statSync(directory, { throwIfNoEntry: false })?.mtimeMs ?? 0,
        isBest: step === best?.step,
        isLast: step === steps.at(-1),
      };
    });
  });
}

export function checkpointsText(run: string, list: readonly ListedCheckpoint[], screen: Screen): string {
  if (list.length === 0)
    return `No checkpoints in ${run}. save.every in the configuration says how often one is saved.\n`;
  const paint = paintFor(screen);
  const heads = ["step", "eval", "size", "saved", ""];
  const rows = list.map(({ step, eval: success, bytes, saved, isBest, isLast }) => [
    ...[String(step), figure(success), `${(bytes / 1e6).toFixed(1)} MB`, dateText(saved)],
    [isBest ? "best" : "", isLast ? "last" : ""].filter(Boolean).join(", "),
  ]);
  const table = textTable([heads.map((head) => paint("bold", head)), ...rows], [0, 1, 2]);
  return `${table}Start a new run from one: npx ludus train <file.ts> --from ${run}@${list.at(-1)?.step}\n`;
}
