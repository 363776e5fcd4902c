import { existsSync, readFileSync } from "node:fs";

export interface Memory {
  residentBytes: number;
  peakBytes: number;
}

/** Resident memory of a process, now and at its highest. Only Linux tells. */
export function readMemory(pid: number): Memory | undefined {
  const path = `/proc/${pid}/status`;
  if (!existsSync(path)) return undefined;
  const status = readFileSync(path, "utf8");
  const bytes = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(status)?.[1]) * 1024;
  return { residentBytes: bytes("VmRSS"), peakBytes: bytes("VmHWM") };
}
