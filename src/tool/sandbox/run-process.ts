import { findCommand } from "./find-command.ts";
import { type CommandLimits, commandLimits } from "./limits.ts";
import { type GroupEnd, notStarted, type ProcessGroup, spawnGroup } from "./process-group.ts";
import { resourceLimits } from "./resource-limits.ts";
import type { End, Ended } from "./sandbox.ts";
import { treeMb, watchMemory } from "./watch-memory.ts";

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

/** What of a process group is needed for its limits. */
export interface LimitedProcess {
  readonly child: {
    readonly pid?: number | undefined;
    readonly stdout: Printing | null;
    readonly stderr: Printing | null;
  };
  readonly ended: Promise<GroupEnd>;
  kill(): void;
}

interface Printing {
  on(event: "data", take: (chunk: Buffer) => void): unknown;
}

/** Waits for the group's end, or brings it about at a limit. `measure` gives the megabytes that are in use. */
export async function withinLimits(
  group: LimitedProcess,
  { timeoutMs, outputBytes, memoryMb }: CommandLimits,
  signal: AbortSignal | undefined,
  measure: (pid: number) => number = treeMb,
): Promise<End & { stdout: string; stderr: string }> {
  let stopped: End | undefined;
  const stop = (end: End) => {
    stopped ??= end;
    group.kill();
  };
  let bytes = 0;
  const collect = (stream: Printing | null) => {
    const chunks: Buffer[] = [];
    stream?.on("data", (chunk: Buffer) => {
      const room = outputBytes - bytes;
      bytes += chunk.byteLength;
      if (room > 0) chunks.push(chunk.subarray(0, room));
      if (bytes > outputBytes) stop({ kind: "output-limit", bytes });
    });
    return () => Buffer.concat(chunks).toString();
  };
  const [stdout, stderr] = [collect(group.child.stdout), collect(group.child.stderr)];
  const cancel = () => stop({ kind: "cancelled" });
  const timer = setTimeout(() => stop({ kind: "timeout", afterMs: timeoutMs }), timeoutMs);
  const { pid } = group.child;
  const unwatch =
    memoryMb === undefined || pid === undefined
      ? () => {}
      : watchMemory(pid, memoryMb, () => stop({ kind: "out-of-memory", limitMb: memoryMb }), measure);
  signal?.addEventListener("abort", cancel, { once: true });
  try {
    const end = await group.ended;
    return { ...(stopped ?? end), stdout: stdout(), stderr: stderr() };
  } finally {
    clearTimeout(timer);
    unwatch();
    signal?.removeEventListener("abort", cancel);
  }
}
