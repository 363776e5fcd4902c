import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { isAbsolute, join, normalize, resolve } from "node:path";
import { defined } from "../../defined.ts";
import { LudusError } from "../../errors.ts";
import { type KnownOptions, refuseOtherValue, refuseUnknownOptions } from "../../known-options.ts";
import { requireBubblewrap } from "./bubblewrap-available.ts";
import { boxRoot, boxTemporary, type HeldMount, holdMount } from "./bubblewrap-mount.ts";
import { startWrapped, type Wrapped } from "./bubblewrap-run.ts";
import { findCommand } from "./find-command.ts";
import { type FolderCommand, openFolderBox } from "./folder-box.ts";
import { type CommandLimits, checkLimits, commandLimits } from "./limits.ts";
import { nodeInBox } from "./node-spare.ts";
import { notStarted } from "./process-group.ts";
import { ReadyMounts } from "./ready-mounts.ts";
import type { End, Ended, Sandbox } from "./sandbox.ts";
import { WaitingNodes, type WarmKind, warmKinds, warmMount } from "./warm-mount.ts";
import { withinLimits } from "./within-limits.ts";

export interface BubblewrapSandboxOptions {
  /** Where folders of images are made; the system's folder for temporary files, otherwise. The files of boxes are in memory. */
  folder?: string;
  /** What the files of one box may take, temporary ones included; 256 otherwise. */
  diskMb?: number;
  /** What commands may read beside /usr: paths of this machine, by the path at which they see them, such as `{ "/opt/data": "/home/me/data" }`. */
  readable?: Readonly<Record<string, string>>;
  /** Of each command, where neither box nor command say otherwise; 1024 MB and 256 processes, if left out. */
  limits?: Partial<CommandLimits>;
  /** The user that commands run as, where this program is root; one that owns nothing. */
  uid?: number;
  /**
   * `python` keeps an interpreter waiting in every box, which forks for a call of `python3 file` or `python3 -c code`: 4 ms rather than 30. Such
   * calls share a hash seed, and variables that the interpreter reads when it starts are for calls that start one: those with `PYTHON*`.
   *
   * `node` shows this program's own Node to every box, as the command `node`, and has one started ahead of the next `node file` or `node -e code`.
   *
   * `node-session` has one Node for all such calls of a box, one after the other, each in a context of `node:vm`: 5 ms rather than 60. A call can
   * change what later calls of the same box see: rewards by tests refuse such boxes.
   */
  warm?: WarmKind;
  /**
   * How many boxes are started before anyone asks for one, each with what `warm` says; 0 otherwise. The first `open` begins with it, and half a minute
   * without an `open` ends it. Boxes that begin with an image are not among them.
   */
  ready?: number;
}

const knownBubblewrapSandboxOptions: KnownOptions<BubblewrapSandboxOptions> = {
  folder: true,
  diskMb: true,
  readable: true,
  limits: true,
  uid: true,
  warm: true,
  ready: true,
};

export const defaultBubblewrapLimits: Readonly<Partial<CommandLimits>> = { memoryMb: 1_024, processes: 256 };
export const defaultBoxUid = 64_987;
const mostWaitingNodes = 16;

/**
 * Commands in namespaces of their own: no network, a system that can only be read, files in memory up to a size, a user without rights, and
 * a filter of system calls. Needs Linux and `bwrap`; `open` says so where they are missing. The default wherever code of a model runs.
 */
export function bubblewrapSandbox(options: BubblewrapSandboxOptions = {}): Sandbox {
  refuseUnknownOptions("bubblewrapSandbox", options, knownBubblewrapSandboxOptions);
  const { folder = tmpdir(), diskMb = 256, limits, uid = defaultBoxUid, warm, ready = 0 } = options;
  if (warm !== undefined) refuseOtherValue("bubblewrapSandbox.warm", warm, warmKinds);
  const isNode = warm === "node" || warm === "node-session";
  checkLimits({ diskMb, uid });
  checkReady(ready);
  commandLimits(limits);
  const readable = { ...options.readable, ...(isNode && { [nodeInBox]: process.execPath }) };
  for (const [inside, path] of Object.entries(readable)) checkReadable(inside, path);
  const common = { ...defaultBubblewrapLimits, ...limits };
  const [name, level] = ["bubblewrap", "namespace"] as const;
  const usual = commandLimits(common);
  const nodes = new WaitingNodes(mostWaitingNodes + ready);
  const settings = { warm, usual, common, nodes, isAhead: ready > 0, runAlone: runInBox };
  const make = async (image?: string) => warmMount(await holdMount({ image, uid, diskMb, readable }), settings);
  const mounts = new ReadyMounts(make, ready);
  const mount = (_: unknown, image: string | undefined) => (image === undefined ? mounts.take() : make(image));
  return {
    name,
    level,
    ...defined({ sharesProcess: warm === "node-session" ? true : undefined }),
    async open(spec, signal) {
      signal?.throwIfAborted();
      await requireBubblewrap();
      return await openFolderBox({ name, level, folder, mount }, spec, signal);
    },
  };
}

function checkReady(ready: number): void {
  if (Number.isInteger(ready) && ready >= 0 && ready <= 1_000) return;
  throw new LudusError("bad-option", {
    got: `ready = ${ready} of bubblewrapSandbox`,
    expected: "a whole number from 0 to 1000",
  });
}

async function runInBox(request: FolderCommand, held: HeldMount, signal: AbortSignal): Promise<Ended> {
  const { command, args = [], input = "", cwd = boxRoot, env = {} } = request;
  const limits = commandLimits(request.limits);
  const failed = (end: End): Ended => ({ ...end, stdout: "", stderr: "", notApplied: [] });
  const file = await findInBox(command, env.PATH ?? "", cwd, held);
  if (signal.aborted) return failed({ kind: "cancelled" });
  if (file === undefined) return failed({ kind: "not-started", name: "ENOENT", message: `${command} was not found` });
  let wrapped: Wrapped;
  try {
    wrapped = startWrapped({ file, args, cwd, env, enter: held.enter, view: held.view, limits });
  } catch (error) {
    return failed(notStarted(error)); // such as a zero byte in an argument
  }
  const { group, measure, release } = wrapped;
  group.child.stdin?.end(input);
  try {
    const ended = await withinLimits(group, limits, signal, measure);
    const isExceeded = measure !== undefined && measure(0) > 0 && ended.kind === "exited";
    const end: End = isExceeded ? { kind: "out-of-memory", limitMb: limits.memoryMb! } : ended;
    return { ...end, stdout: ended.stdout, stderr: ended.stderr, notApplied: [] };
  } finally {
    release();
  }
}

/** A path inside. What lies in the box is not looked at by links that lead out: running it fails by itself then. */
async function findInBox(command: string, path: string, cwd: string, held: HeldMount): Promise<string | undefined> {
  const candidates = command.includes("/")
    ? [isAbsolute(command) ? command : resolve(cwd, command)]
    : path.split(":").flatMap((folder) => (folder === "" ? [] : [join(folder, command)]));
  for (const candidate of candidates) if (await findCommand(outsideOf(candidate, held), "", "/")) return candidate;
  return undefined;
}

/** Where this program sees a path of the box. */
function outsideOf(path: string, { files, readable }: HeldMount): string {
  for (const [inside, outside] of Object.entries({ ...readable, [boxRoot]: files })) {
    if (path === inside || path.startsWith(`${inside}/`)) return join(outside, path.slice(inside.length));
  }
  return path;
}

/** What a box can change must not hold a mount: a link put there would lead it elsewhere. */
const taken = [boxRoot, boxTemporary, "/proc", "/dev", "/usr", "/etc"];

function checkReadable(inside: string, path: string): void {
  const isTaken = taken.some((folder) => inside === folder || inside.startsWith(`${folder}/`));
  if (isAbsolute(path) && existsSync(path) && isAbsolute(inside) && normalize(inside) === inside && !isTaken) return;
  throw new LudusError("path-not-readable", {
    got: `${JSON.stringify(path)} at ${JSON.stringify(inside)}`,
    expected: `an absolute path of this machine, and one in the box outside of ${taken.join(", ")}`,
  });
}
