import { isAbsolute, relative } from "node:path";
import type { Env } from "../env/env.ts";
import { shippedEnvs } from "../env/environments/index.ts";
import { LudusError } from "../errors.ts";
import type { Environments } from "../server/dashboard/play-routes.ts";
import { loadEnv } from "./load-env.ts";

/** What can be played by hand: environments of files first, then the shipped ones whose names they did not take. */
export async function playable(files: readonly string[]): Promise<Environments> {
  const own: Record<string, Environments[string]> = {};
  for (const file of files) {
    const env = await loadFile(file);
    own[env.name] = { description: env.description ?? file, make: () => env };
  }
  return { ...own, ...Object.fromEntries(Object.entries(shippedEnvs).filter(([name]) => !Object.hasOwn(own, name))) };
}

/** The environment of a file that a stored run names. A run may come from elsewhere: files of other folders are not run. */
export async function envInFolder(file: string): Promise<Env> {
  const path = relative(process.cwd(), file);
  if (!isAbsolute(path) && !path.startsWith("..")) return loadFile(path);
  throw new LudusError("env-elsewhere", {
    got: `a run that was made from ${file}`,
    expected: `a file in ${process.cwd()}`,
    hint: `If it is yours: ludus dashboard --env ${file}`,
  });
}

function loadFile(file: string): Promise<Env> {
  // a bare name would be taken for that of a shipped environment
  return loadEnv(/[/\\]/.test(file) ? file : `./${file}`);
}
