import { readdirSync, readFileSync } from "node:fs";

const everyMs = 50;

/**
 * Calls `onExceeded` once a process has more than `megabytes` in memory, by `measure`: buffers lie outside the heap that V8
 * limits, and an address-space limit would stop V8 itself. Linux only; elsewhere nothing is watched. Returns what stops it.
 */
export function watchMemory(
  pid: number,
  megabytes: number,
  onExceeded: () => void,
  measure: (pid: number) => number = residentMb,
): () => void {
  if (process.platform !== "linux") return () => {};
  const timer = setInterval(() => {
    if (measure(pid) <= megabytes) return;
    clearInterval(timer);
    onExceeded();
  }, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}

/** A process and its children. A grandchild whose parent has ended is not seen. */
export function treeMb(pid: number): number {
  let total = 0;
  const open = [pid];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    total += residentMb(next);
    open.push(...childrenOf(next));
  }
  return total;
}

function residentMb(pid: number): number {
  try {
    const [, kilobytes] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return Number(kilobytes ?? 0) / 1024;
  } catch {
    return 0; // it is gone
  }
}

/** Any thread of a process may have started a child. */
function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((thread) => {
      const text = readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8").trim();
      return text === "" ? [] : text.split(" ").map(Number);
    });
  } catch {
    return []; // it is gone, or the kernel was built without the list
  }
}
