import { readFileSync } from "node:fs";

const linuxFolder = "/sys/devices/system/cpu/cpu0/cache/index3";

/** A core's share of the processor's last-level cache in bytes; undefined where the system does not say. */
export function cacheShare(folder = linuxFolder): number | undefined {
  try {
    const [size, cores] = ["size", "shared_cpu_list"].map((name) => readFileSync(`${folder}/${name}`, "utf8").trim());
    const kibibytes = /^(\d+)K$/.exec(size)?.[1];
    const isList = /^\d+(-\d+)?(,\d+(-\d+)?)*$/.test(cores);
    return kibibytes === undefined || !isList ? undefined : (Number(kibibytes) * 1024) / coresOf(cores);
  } catch {
    return undefined;
  }
}

/** How many cores a list such as "0-3,8" names. */
function coresOf(list: string): number {
  return list.split(",").reduce((sum, range) => {
    const [first, last = first] = range.split("-").map(Number);
    return sum + last - first + 1;
  }, 0);
}
