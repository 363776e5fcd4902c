import { findCommand } from "./find-command.ts";
import { checkLimits, defaultProcessLimits, type ProcessLimits } from "./limits.ts";
import { notStarted, type ProcessGroup, spawnGroup } from "./process-group.ts";
import { type LimitNotApplied, resourceLimits } from "./resource-limits.ts";

export interface ProcessRequest {
  /** A name looked up in `env.PATH`, or a path. No shell reads it. */
  command: string;
  args?: readonly string[];
  /** Its standard input. */
  input?: string | Uint8Array;
  cwd?: string;
  /** All that it sees of an environment; `defaultProcessEnv`, otherwise. Nothing is inherited. */
  env?: Readonly<Record<string, string>>;
  limits?: Partial<ProcessLimits>;
}

export const defaultProcessEnv: Readonly<Record<string, string>> = { PATH: "/usr/bin:/bin", LANG: "C.UTF-8" };

/** How a command ended. */
export type ProcessEnd =
  | { kind: "exited"; code: number }
  | { kind: "signalled"; signal: string }
  | { kind: "timeout"; afterMs: number }
  | { kind: "output-limit"; bytes: number }
  | { kind: "cancelled" }
  | { kind: "not-started"; code: string; message: string };

export type ProcessResult = ProcessEnd & {
  /** What was written, within the limit. */
  stdout: string;
  stderr: string;
  /** Limits that were asked for and do not hold. */
  notApplied: readonly LimitNotApplied[];
};

/**
 * Runs a command in a process group of its own, which is gone when this resolves. Whatever the command does is a result.
 * It can still read files and open connections as this program can.
 *
 *     const run = await runProcess({ command: "python3", args: ["-c", code], limits: { timeoutMs: 2_000 } });
 *     const passed = run.kind === "exited" && run.code === 0;
 */
export async function runProcess(request: ProcessRequest, signal?: AbortSignal): Promise<ProcessResult> {
  const { command, args = [], input = "", cwd = process.cwd(), env = defaultProcessEnv } = request;
  const limits = checkLimits({ ...defaultProcessLimits, ...request.limits });
  const { prefix, notApplied } = await resourceLimits(limits);
  const file = await findCommand(command, env.PATH ?? "", cwd);
  const failed = (end: ProcessEnd): ProcessResult => ({ ...end, stdout: "", stderr: "", notApplied });
  if (signal?.aborted) return failed({ kind: "cancelled" });
  if (file === undefined) return failed({ kind: "not-started", code: "ENOENT", message: `${command} was not found` });

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

async function withinLimits(
  group: ProcessGroup,
  { timeoutMs, outputBytes }: ProcessLimits,
  signal: AbortSignal | undefined,
): Promise<ProcessEnd & { stdout: string; stderr: string }> {
  let stopped: ProcessEnd | undefined;
  const stop = (end: ProcessEnd) => {
    stopped ??= end;
    group.kill();
  };
  let bytes = 0;
  const collect = (stream: NodeJS.ReadableStream | null) => {
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
  signal?.addEventListener("abort", cancel, { once: true });
  try {
    const end = await group.ended;
    return { ...(stopped ?? end), stdout: stdout(), stderr: stderr() };
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", cancel);
  }
}
