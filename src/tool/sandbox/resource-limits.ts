import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { errorText } from "../../errors.ts";
import { findCommand } from "./find-command.ts";
import type { CommandLimits, LimitNotApplied } from "./limits.ts";

export interface ResourceLimits {
  /** What to put before the command; empty when nothing is to be set. */
  prefix: readonly string[];
  notApplied: readonly LimitNotApplied[];
}

const megabyte = 2 ** 20;
const options: readonly { limit: keyof CommandLimits; option: string; unit: number }[] = [
  { limit: "cpuSeconds", option: "cpu", unit: 1 },
  { limit: "addressSpaceMb", option: "as", unit: megabyte },
  { limit: "fileMb", option: "fsize", unit: megabyte },
  { limit: "processes", option: "nproc", unit: 1 },
];
/** One short run of `prlimit` per option and value tells whether it can be set here. */
const tried = new Map<string, Promise<string | undefined>>();

/** Sets limits through `prlimit`, which keeps them for every descendant. */
export async function resourceLimits(limits: CommandLimits): Promise<ResourceLimits> {
  const prefix: string[] = [];
  const notApplied: LimitNotApplied[] = [];
  const wanted = options.filter(({ limit }) => limits[limit] !== undefined);
  if (limits.memoryMb !== undefined && process.platform !== "linux") {
    notApplied.push({ limit: "memoryMb", reason: "memory can be watched on Linux only" });
  }
  const prlimit = wanted.length === 0 ? undefined : await findPrlimit();
  for (const { limit, option, unit } of wanted) {
    const flag = `--${option}=${Math.ceil(limits[limit]! * unit)}`;
    const reason = limit === "processes" && isRoot() ? "does not bind root" : await whyNot(prlimit, flag);
    if (reason === undefined) prefix.push(flag);
    else notApplied.push({ limit, reason });
  }
  if (prlimit === undefined || prefix.length === 0) return { prefix: [], notApplied };
  return { prefix: [prlimit, "--core=0", ...prefix, "--"], notApplied };
}

const isRoot = () => process.getuid?.() === 0;
const findPrlimit = () => findCommand("prlimit", process.env.PATH ?? "/usr/bin:/bin", "/");

async function whyNot(prlimit: string | undefined, flag: string): Promise<string | undefined> {
  if (prlimit === undefined) return "prlimit was not found";
  const known = tried.get(flag) ?? tryFlag(prlimit, flag);
  tried.set(flag, known);
  return await known;
}

async function tryFlag(prlimit: string, flag: string): Promise<string | undefined> {
  try {
    // without a command it limits itself
    await promisify(execFile)(prlimit, ["--core=0", flag], { env: {}, timeout: 5_000 });
    return undefined;
  } catch (error) {
    return errorText(error).trim();
  }
}
