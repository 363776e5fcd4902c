import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { LudusError } from "../../src/errors.ts";

const flags = [
  "--unshare-all",
  "--die-with-parent",
  "--new-session",
  "--cap-drop",
  "ALL",
  "--clearenv",
  "--proc",
  "/proc",
  "--dev",
  "/dev",
];

/** What one would type: no files, no limits, no filter. */
export async function plain(command: string, args: readonly string[]): Promise<void> {
  const system = ["--ro-bind", "/", "/"];
  const { stdout } = await promisify(execFile)("bwrap", [
    ...flags.slice(0, 6),
    ...system,
    ...flags.slice(6),
    command,
    ...args,
  ]);
  if (stdout !== "2\n") throw new LudusError("wrong-answer", { got: stdout, expected: "2" });
}
