import { availableParallelism, cpus, loadavg, platform, release, totalmem } from "node:os";
import { gitCommit } from "../src/checkpoint/git-commit.ts";

/** What a number is worth nothing without. */
export interface AboutRun {
  date: string;
  command: string;
  /** "+changes" where the working tree differs from it. */
  commit: string;
  processor: string;
  cores: number;
  memoryBytes: number;
  system: string;
  /** Processes that wanted to run, over the last minute, before the run began. */
  loadBefore: number;
}

export function aboutRun(name: string, args: readonly string[], root: string): AboutRun {
  return {
    date: new Date().toISOString(),
    command: ["npm run bench --", name, ...args].join(" "),
    commit: gitCommit(root, ["src", "bench/*.ts", "bench/*.py"]) ?? "",
    processor: cpus()[0]?.model ?? "unknown",
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    system: `${platform()} ${release()}`,
    loadBefore: loadavg()[0],
  };
}

export function busyWarning({ loadBefore, cores }: AboutRun): string | undefined {
  if (loadBefore < cores / 4) return undefined;
  return `the machine is busy (load average ${loadBefore.toFixed(1)} on ${cores} cores): trust ratios, not rates`;
}

/** One line under a table. */
export function aboutLine(about: AboutRun, versions: Readonly<Record<string, string>>, coresOfOthers: number): string {
  const memory = `${Math.round(about.memoryBytes / 2 ** 30)} GiB`;
  const software = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  const others = `load ${about.loadBefore.toFixed(2)} before, other processes used ${coresOfOthers.toFixed(2)} cores meanwhile`;
  const machine = `${about.processor}, ${about.cores} cores, ${memory}, ${others}`;
  return `${about.date.slice(0, 10)}, commit ${about.commit}; ${machine}; ${software.join(", ")}.`;
}
