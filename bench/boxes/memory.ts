import { readdirSync, readFileSync } from "node:fs";

/** All processes below one. */
export function descendants(root: number): number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const [, parent] = /\) \S (\d+)/.exec(read(`/proc/${name}/stat`)) ?? [];
    parents.set(Number(name), Number(parent ?? 0));
  }
  const isBelow = (pid: number): boolean => {
    const parent = parents.get(pid);
    return parent !== undefined && (parent === root || isBelow(parent));
  };
  return [...parents.keys()].filter(isBelow);
}

export const proportionalMb = (pid: number) =>
  Number(/^Pss:\s+(\d+)/m.exec(read(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0) / 1_024;
export const availableMb = () => Number(/^MemAvailable:\s+(\d+)/m.exec(read("/proc/meminfo"))?.[1] ?? 0) / 1_024;

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return ""; // it is gone
  }
}
