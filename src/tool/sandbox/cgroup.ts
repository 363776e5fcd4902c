import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

/** A group of processes whose memory the kernel limits together. */
export interface MemoryGroup {
  add(pid: number): Promise<void>;
  /** Whether the kernel has ended a process of the group for want of memory. */
  isExceeded(): boolean;
  /** After its processes are gone. */
  remove(): void;
}

interface Layout {
  readonly parent: string;
  readonly limits: readonly string[];
  readonly events: string;
}

// the first file of `limits` must be there, the others may
const layouts: readonly Layout[] = [
  {
    parent: "/sys/fs/cgroup/memory",
    limits: ["memory.limit_in_bytes", "memory.memsw.limit_in_bytes"],
    events: "memory.oom_control",
  },
  { parent: "/sys/fs/cgroup", limits: ["memory.max"], events: "memory.events" },
];

let made = 0;
/** Undefined until it was tried once, and null where no group can be made. */
let usable: Layout | null | undefined;

/** A new group, or undefined where this user may not make one: memory has to be watched then. */
export function memoryGroup(megabytes: number): MemoryGroup | undefined {
  if (usable === undefined) usable = layouts.find((layout) => tryLayout(layout)) ?? null;
  return usable === null ? undefined : makeGroup(usable, megabytes);
}

function tryLayout(layout: Layout): boolean {
  if (process.platform !== "linux" || !existsSync(layout.parent)) return false;
  sweep(layout.parent);
  const group = makeGroup(layout, 64);
  group?.remove();
  return group !== undefined;
}

/** Groups of programs that were killed: an empty one can be removed, one that is in use cannot. */
function sweep(parent: string): void {
  for (const name of readdirSync(parent)) {
    const [, pid] = /^ludus-(\d+)-\d+$/.exec(name) ?? [];
    if (pid === undefined || existsSync(`/proc/${pid}`)) continue;
    try {
      rmdirSync(join(parent, name));
    } catch {
      // another program has removed it, or this user may not
    }
  }
}

function makeGroup({ parent, limits, events }: Layout, megabytes: number): MemoryGroup | undefined {
  made += 1;
  const folder = join(parent, `ludus-${process.pid}-${made}`);
  const remove = (tries = 40) => {
    try {
      rmdirSync(folder);
    } catch {
      // its processes are on their way out; this program waits for them, for two seconds at most
      if (tries > 0) setTimeout(() => remove(tries - 1), 50);
    }
  };
  try {
    mkdirSync(folder);
  } catch {
    return undefined;
  }
  try {
    const [first, ...others] = limits.map((name) => join(folder, name));
    writeFileSync(first!, `${Math.ceil(megabytes * 2 ** 20)}`, { flag: "r+" });
    for (const file of others) if (existsSync(file)) writeFileSync(file, `${Math.ceil(megabytes * 2 ** 20)}`);
  } catch {
    rmdirSync(folder);
    return undefined;
  }
  return {
    add: (pid) => writeFile(join(folder, "cgroup.procs"), `${pid}`),
    isExceeded: () => Number(/^oom_kill (\d+)/m.exec(readFileSync(join(folder, events), "utf8"))?.[1] ?? 0) > 0,
    remove: () => remove(),
  };
}
