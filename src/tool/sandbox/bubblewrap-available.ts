import { LudusError } from "../../errors.ts";
import { boxRoot, dropTo } from "./bubblewrap-mount.ts";
import { startWrapped } from "./bubblewrap-run.ts";
import { findCommand } from "./find-command.ts";
import { defaultCommandLimits } from "./limits.ts";
import { seccompArchitecture } from "./seccomp-filter.ts";
import { withinLimits } from "./within-limits.ts";

const systemPath = "/usr/sbin:/usr/bin:/sbin:/bin";
/** Programs and the Debian packages that have them. */
const programs = { bwrap: "bubblewrap", unshare: "util-linux", nsenter: "util-linux", prlimit: "util-linux" };

let tried: Promise<string | undefined> | undefined;

/** Why no box can be made with bubblewrap here, or undefined where one can. It is tried once. */
export async function whyNoBubblewrap(): Promise<string | undefined> {
  tried ??= whyNotWith(systemPath);
  return await tried;
}

/** Throws where no box can be made with bubblewrap. */
export async function requireBubblewrap(): Promise<void> {
  const reason = await whyNoBubblewrap();
  if (reason === undefined) return;
  throw new LudusError("no-bubblewrap", {
    got: reason,
    expected: "a box that keeps a model's code from this machine",
    hint:
      "Install it with `apt-get install bubblewrap` (Linux). To run at the weaker level `process` all the same, where code can read your " +
      "files and use the network, ask for it by name: `sandbox: processSandbox()`.",
  });
}

/** The same, tried anew, with programs from these folders. */
export async function whyNotWith(path: string): Promise<string | undefined> {
  if (process.platform !== "linux") return `${process.platform}, where there is no bubblewrap`;
  if (seccompArchitecture() === undefined)
    return `processor ${process.arch}, for which there is no filter of system calls`;
  for (const [program, packageName] of Object.entries(programs)) {
    if (await findCommand(program, path, "/")) continue;
    return `no program \`${program}\` (package ${packageName})`;
  }
  const { group, release } = startWrapped({
    file: "true",
    args: [],
    cwd: boxRoot,
    env: { PATH: "/usr/bin:/bin" },
    enter: dropTo(65_534),
    view: ["--dir", boxRoot],
    limits: {},
  });
  group.child.stdin?.end();
  const ended = await withinLimits(group, defaultCommandLimits, undefined);
  release();
  if (ended.kind === "exited" && ended.code === 0) return undefined;
  return `bwrap that does not work here: ${ended.stderr.trim().slice(0, 300) || ended.kind}`;
}
