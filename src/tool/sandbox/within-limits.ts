import type { CommandLimits } from "./limits.ts";
import type { GroupEnd } from "./process-group.ts";
import type { End } from "./sandbox.ts";
import { treeMb, watchMemory } from "./watch-memory.ts";

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
