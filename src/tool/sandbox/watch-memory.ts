import { readFileSync } from "node:fs";

const everyMs = 50;

/**
 * Calls `onExceeded` once a process has more than `megabytes` in memory: buffers lie outside the heap that V8 limits, and
 * an address-space limit would stop V8 itself. Linux only; elsewhere nothing is watched. Returns what stops it.
 */
export function watchMemory(pid: number, megabytes: number, onExceeded: () => void): () => void {
  if (process.platform !== "linux") return () => {};
  const timer = setInterval(() => {
    if (residentMb(pid) <= megabytes) return;
    clearInterval(timer);
    onExceeded();
  }, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}

function residentMb(pid: number): number {
  try {
    const [, kilobytes] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return Number(kilobytes ?? 0) / 1024;
  } catch {
    return 0; // it is gone
  }
}
