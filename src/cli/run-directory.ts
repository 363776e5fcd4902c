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
  /** Whether runs are not folders but in a store of the configuration's. */
  readonly isStored?: boolean;
}

/** Where a run is kept: the folder that was named, or `runs/<environment>-<n>`. A run that is there is only gone on with when asked. */
export async function chooseRunDirectory(
  runs: RunCatalog,
  { wanted, isResumed, env, root, isStored = false }: RunChoice,
): Promise<string> {
  if (wanted === undefined) {
    const last = lastNumber(isStored ? await storedNames(runs, `${root}/`, env) : namesIn(root), env);
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

function namesIn(root: string): readonly string[] {
  return existsSync(root) ? readdirSync(root) : [];
}

async function storedNames(runs: RunCatalog, prefix: string, env: string): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const { id } of runs.list({ search: `${prefix}${env}-` })) {
    if (id.startsWith(prefix)) names.push(id.slice(prefix.length));
  }
  return names;
}

function lastNumber(names: readonly string[], env: string): number {
  const numbers = names.map((name) => {
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
