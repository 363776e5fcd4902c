import { existsSync, readFileSync } from "node:fs";

/** Seconds of processor time used so far. Only Linux tells. */
export interface ProcessorTime {
  machine: number;
  process: number;
}

/** Linux counts in hundredths of a second, whatever the machine. */
const ticksPerSecond = 100;

export function readProcessorTime(pid: number): ProcessorTime | undefined {
  const path = `/proc/${pid}/stat`;
  if (!existsSync(path)) return undefined;
  // user, nice, system, idle, waiting, interrupts, soft interrupts, taken by other virtual machines
  const [user, nice, system, , , hard, soft, stolen] = fields(readFileSync("/proc/stat", "utf8"), /^cpu +/);
  // the process's name, which may hold anything, ends with the last parenthesis
  const process = fields(readFileSync(path, "utf8"), /^.*\) \w /s);
  return {
    machine: (user + nice + system + hard + soft + stolen) / ticksPerSecond,
    process: (process[10] + process[11]) / ticksPerSecond,
  };
}

function fields(text: string, before: RegExp): number[] {
  return text.replace(before, "").split(/\s+/).map(Number);
}

/** How many cores all other processes kept busy, on average, between two readings. */
export function coresOfOthers(before: ProcessorTime, after: ProcessorTime, seconds: number): number {
  return Math.max(0, after.machine - before.machine - (after.process - before.process)) / seconds;
}
