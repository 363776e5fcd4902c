import { readdirSync, readFileSync } from "node:fs";

const closeOnExec = 0o2000000;
let found: readonly number[] | undefined;

/** Descriptors that this program was started with and that its children would get: whoever started it left them open. Linux only. */
export function inheritedDescriptors(): readonly number[] {
  found ??= process.platform === "linux" ? readdirSync("/proc/self/fd").map(Number).filter(isInherited) : [];
  return found;
}

function isInherited(descriptor: number): boolean {
  if (descriptor <= 2) return false;
  try {
    const [, flags] = /^flags:\s+(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, "utf8")) ?? [];
    return flags !== undefined && (Number.parseInt(flags, 8) & closeOnExec) === 0;
  } catch {
    return false; // the one that read the folder
  }
}
