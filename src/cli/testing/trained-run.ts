import { fileURLToPath } from "node:url";
import { runCommand } from "./run-command.ts";

export const fakeConfigFile = fileURLToPath(new URL("../fixtures/fake-config.ts", import.meta.url));
export const tinyConfigFile = fileURLToPath(new URL("../fixtures/tiny-config.ts", import.meta.url));
export const downConfigFile = fileURLToPath(new URL("../fixtures/down-config.ts", import.meta.url));

/** A run as `ludus train` leaves it. */
export async function trainedRun(file: string, run: string, ...args: readonly string[]): Promise<string> {
  const { status, stderr } = await runCommand(["train", file, "--run", run, "--quiet", ...args]);
  if (status !== 0) throw new Error(stderr);
  return run;
}
