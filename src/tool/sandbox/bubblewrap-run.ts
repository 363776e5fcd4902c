import { openSync, writeFileSync } from "node:fs";
import type { Writable } from "node:stream";
import { insideUser, systemView } from "./bubblewrap-mount.ts";
import { type MemoryGroup, memoryGroup } from "./cgroup.ts";
import { inheritedDescriptors } from "./inherited-descriptors.ts";
import type { CommandLimits } from "./limits.ts";
import { type ProcessGroup, spawnGroup } from "./process-group.ts";
import { seccompArchitecture, seccompFilter } from "./seccomp-filter.ts";
import { treeMb } from "./watch-memory.ts";

export interface WrappedCommand {
  /** A path inside. */
  readonly file: string;
  readonly args: readonly string[];
  /** A folder inside. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** What to run `bwrap` with: in a mount namespace, as another user. */
  readonly enter: readonly string[];
  /** Further arguments of `bwrap`: what can be seen beside the system. */
  readonly view: readonly string[];
  readonly limits: Partial<CommandLimits>;
  /** Whether it is process 1 of its namespace, which nothing inside can signal; an init that forwards signals is, otherwise. */
  readonly isFirst?: boolean;
  /** Whether the program sets the limits of its processes: `prlimit` is not started before it. */
  readonly limitsItself?: boolean;
  /** How many pipes it gets, from descriptor 0 on; 3 otherwise. */
  readonly pipes?: number;
}

export interface Wrapped {
  readonly group: ProcessGroup;
  /** For `watchMemory`. Undefined where processes have to be added up. */
  readonly measure?: (pid: number) => number;
  /** To be called when the group has ended. */
  readonly release: () => void;
}

const devices = ["--dev", "/dev", "--size", `${16 << 20}`, "--tmpfs", "/dev/shm"];
// nothing of /proc has to be written, and some of it is the kernel's
const sealed = ["--remount-ro", "/proc", "--remount-ro", "/dev", "--remount-ro", "/"];
const namespaces = ["--unshare-all", "--hostname", "box", "--die-with-parent", "--new-session"];
const openFiles = 1_024;

let filter: Uint8Array | undefined;

/**
 * Starts a command in `bwrap`. Its arguments go through a pipe: they name paths of this machine, and anyone can read a command line. It waits
 * for that pipe, so that it is in its memory group before it does anything.
 */
export function startWrapped(command: WrappedCommand): Wrapped {
  const { file, args, cwd, env, enter, view, limits, pipes = 3, isFirst = false, limitsItself = false } = command;
  const [seccompFd, argsFd] = [pipes, pipes + 1];
  const wrapping = [
    ...namespaces,
    ...(isFirst ? ["--as-pid-1"] : []),
    ...insideUser,
    ...["--cap-drop", "ALL", "--clearenv"],
    ...Object.entries(env).flatMap(([name, value]) => ["--setenv", name, value]),
    ...systemView(),
    ...["--proc", "/proc"],
    ...devices,
    ...view,
    ...sealed,
    ...["--chdir", cwd, "--seccomp", `${seccompFd}`],
  ];
  const [first, ...rest] = [
    ...enter,
    "bwrap",
    "--args",
    `${argsFd}`,
    "--",
    ...(limitsItself ? [] : rlimits(limits)),
    file,
    ...args,
  ];
  for (const text of [...wrapping, ...rest]) if (text.includes("\0")) throw new TypeError("a zero byte in an argument");
  const memory = limits.memoryMb === undefined ? undefined : memoryGroup(limits.memoryMb);
  let group: ProcessGroup;
  try {
    group = spawnGroup(first!, rest, {
      env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" },
      cwd: "/",
      stdio: [...Array.from({ length: pipes + 2 }, () => "pipe" as const), ...covers(pipes + 2)],
    });
  } catch (error) {
    memory?.remove();
    throw error;
  }
  killFirst(group);
  filter ??= seccompFilter(seccompArchitecture() ?? "x64");
  const give = (fd: number, data: string | Uint8Array) => (group.child.stdio[fd] as Writable | undefined)?.end(data);
  give(seccompFd, filter);
  let isLimited = memory !== undefined;
  void addTo(memory, group).then((isAdded) => {
    isLimited = isAdded;
    give(argsFd, wrapping.map((text) => `${text}\0`).join(""));
  });
  const exceeded = () => (memory?.isExceeded() ? Number.POSITIVE_INFINITY : 0);
  return {
    group,
    release: () => memory?.remove(),
    ...(memory !== undefined && { measure: (pid) => (isLimited ? exceeded() : pid > 0 ? treeMb(pid) : 0) }),
  };
}

let nothing: number | undefined;

/** /dev/null over every descriptor that would be passed on. What is ignored stays as it is. */
function covers(first: number): (number | "ignore")[] {
  const inherited = new Set(inheritedDescriptors());
  const last = Math.max(first - 1, ...inherited);
  if (last >= first) nothing ??= openSync("/dev/null", "r");
  return Array.from({ length: last - first + 1 }, (_, index) => (inherited.has(first + index) ? nothing! : "ignore"));
}

/** The kernel takes some milliseconds for it, in which this program can do something else. */
async function addTo(memory: MemoryGroup | undefined, group: ProcessGroup): Promise<boolean> {
  if (memory === undefined || group.child.pid === undefined) return false;
  try {
    await memory.add(group.child.pid);
    return true;
  } catch {
    return false; // it has ended already
  }
}

/** Where memory runs out all the same, a box is to go before this program. */
function killFirst(group: ProcessGroup): void {
  try {
    writeFileSync(`/proc/${group.child.pid}/oom_score_adj`, "500");
  } catch {
    // it has ended already
  }
}

const megabyte = 2 ** 20;

/** Set inside, where processes of the box are counted alone. */
function rlimits({ cpuSeconds, addressSpaceMb, fileMb, processes }: Partial<CommandLimits>): string[] {
  const flag = (name: string, value: number | undefined) =>
    value === undefined ? [] : [`--${name}=${Math.ceil(value)}`];
  return [
    ...["prlimit", "--core=0", `--nofile=${openFiles}`],
    ...flag("cpu", cpuSeconds),
    ...flag("as", addressSpaceMb && addressSpaceMb * megabyte),
    ...flag("fsize", fileMb && fileMb * megabyte),
    ...flag("nproc", processes),
    "--",
  ];
}
