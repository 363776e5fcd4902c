import { findCommand } from "./find-command.ts";
import { type CommandLimits, commandLimits } from "./limits.ts";
import { notStarted, type ProcessGroup, spawnGroup } from "./process-group.ts";
import { resourceLimits } from "./resource-limits.ts";
import type { End, Ended } from "./sandbox.ts";
import { withinLimits } from "./within-limits.ts";

export interface ProcessRequest {
  /** A name looked up in `env.PATH`, or a path. No shell reads it. */
  command: string;
  args?: readonly string[];
  /** Its standard input. */
  input?: string | Uint8Array;
  cwd?: string;
  /** All that it sees of an environment; `defaultProcessEnv`, otherwise. Nothing is inherited. */
  env?: Readonly<Record<string, string>>;
  limits?: Partial<CommandLimits>;
}

export const defaultProcessEnv: Readonly<Record<string, string>> = { PATH: "/usr/bin:/bin", LANG: "C.UTF-8" };

/**
 * Runs a command in a process group of its own, which is gone when this resolves. Whatever the command does is a result.
 * It can still read files and open connections as this program can.
 *
 *     const ended = await runProcess({ command: "python3", args: ["-c", code], limits: { timeoutMs: 2_000 } });
 *     const passed = ended.kind === "exited" && ended.code === 0;
 */
export async function runProcess(request: ProcessRequest, signal?: AbortSignal): Promise<Ended> {
  const { command, args = [], input = "", cwd = process.cwd(), env = defaultProcessEnv } = request;
  const limits = commandLimits(request.limits);
  const { prefix, notApplied } = await resourceLimits(limits);
  const file = await findCommand(command, env.PATH ?? "", cwd);
  const failed = (end: End): Ended => ({ ...end, stdout: "", stderr: "", notApplied });
  if (signal?.aborted) return failed({ kind: "cancelled" });
  if (file === undefined) return failed({ kind: "not-started", name: "ENOENT", message: `${command} was not found` });

  const [first, ...rest] = [...prefix, file, ...args];
  let group: ProcessGroup;
  try {
    group = spawnGroup(first, rest, { cwd, env: { ...env }, stdio: "pipe" });
  } catch (error) {
    return failed(notStarted(error)); // such as a zero byte in an argument
  }
  group.child.stdin?.end(input);
  return { ...(await withinLimits(group, limits, signal)), notApplied };
}
