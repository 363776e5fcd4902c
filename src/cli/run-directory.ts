import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { LudusError } from "../errors.ts";
import type { RunCatalog } from "../store/index.ts";

export interface RunChoice {
  /** From the command line, else from the configuration. */
  readonly wanted: string | undefined;
  readonly isResumed: boolean;
  readonly env: string;
  /** Where runs without a folder of their own go. */
  readonly root: string;
}

/** Where a run is kept: the folder that was named, or `runs/<environment>-<n>`. A run that is there is only gone on with when asked. */
export async function chooseRunDirectory(
  runs: RunCatalog,
  { wanted, isResumed, env, root }: RunChoice,
): Promise<string> {
  if (wanted === undefined) {
    const last = lastNumber(root, env);
    if (!isResumed) return join(root, `${env}-${last + 1}`);
    if (last > 0) return join(root, `${env}-${last}`);
    throw nothingToResume(join(root, `${env}-…`));
  }
  const isThere = (await runs.info(wanted)) !== undefined;
  if (isThere && !isResumed) {
    throw new LudusError("run-exists", {
      got: `${wanted}, where there is a run already`,
      expected: "a folder without one",
      hint: "Resume it: --resume. Or keep both: --run <another folder>.",
    });
  }
  if (!isThere && isResumed) throw nothingToResume(wanted);
  return wanted;
}

function lastNumber(root: string, env: string): number {
  if (!existsSync(root)) return 0;
  const numbers = readdirSync(root).map((name) => {
    const number = name.startsWith(`${env}-`) ? name.slice(env.length + 1) : "";
    return /^\d+$/.test(number) ? Number(number) : 0;
  });
  return Math.max(0, ...numbers);
}

function nothingToResume(directory: string): LudusError {
  return new LudusError("nothing-to-resume", {
    got: `--resume, and no run in ${directory}`,
    expected: "a run that has begun",
    hint: "Leave out --resume to begin one; ludus runs lists those that are there.",
  });
}
