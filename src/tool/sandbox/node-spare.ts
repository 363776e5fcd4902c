import type { Writable } from "node:stream";
import type { HeldMount } from "./bubblewrap-mount.ts";
import { startWrapped, type Wrapped } from "./bubblewrap-run.ts";
import type { FolderCommand } from "./folder-box.ts";
import type { CommandLimits } from "./limits.ts";
import { nodeSpareProgram } from "./node-spare-program.ts";
import type { Ended } from "./sandbox.ts";
import { withinLimits } from "./within-limits.ts";

/** Where this program's own Node is shown in a box. */
export const nodeInBox = "/run/ludus/node";

const requestPipe = 3;

/**
 * A Node that was started ahead of the one call that it takes. Node cannot fork: this hides its start where calls come apart, and saves none of its
 * work where they follow each other.
 */
export class NodeSpare {
  readonly #wrapped: Wrapped;
  readonly #limits: CommandLimits;
  #isTaken = false;
  #isGone = false;

  constructor(held: HeldMount, limits: CommandLimits) {
    this.#limits = limits;
    this.#wrapped = startWrapped({
      file: nodeInBox,
      args: ["-e", nodeSpareProgram],
      cwd: "/",
      env: { PATH: "/usr/bin:/bin", LANG: "C.UTF-8" },
      enter: held.enter,
      view: held.view,
      limits,
      pipes: requestPipe + 1,
    });
    void this.#wrapped.group.ended.then(() => {
      this.#isGone = true;
      if (!this.#isTaken) this.#wrapped.release();
    });
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  get isBusy(): boolean {
    return this.#isTaken;
  }

  /** Whether it could take this call. */
  takes(request: FolderCommand, limits: CommandLimits): boolean {
    return !this.#isGone && !this.#isTaken && takesNodeCall(request, limits, this.#limits);
  }

  /** Undefined where it ended before the call began. */
  async run(request: FolderCommand, limits: CommandLimits, signal: AbortSignal): Promise<Ended | undefined> {
    if (this.#isGone) return undefined;
    this.#isTaken = true;
    const { args = [], input = "", cwd = "/", env = {} } = request;
    const { group, measure, release } = this.#wrapped;
    group.child.stdin?.end(input);
    (group.child.stdio[requestPipe] as Writable | undefined)?.end(JSON.stringify({ args, cwd, env }));
    if (signal.aborted) group.kill();
    try {
      const ended = await withinLimits(group, limits, signal, measure);
      const isExceeded = measure !== undefined && measure(0) > 0 && ended.kind === "exited";
      if (signal.aborted && ended.kind === "exited") return { ...ended, kind: "cancelled", notApplied: [] };
      if (isExceeded) return { ...ended, kind: "out-of-memory", limitMb: limits.memoryMb!, notApplied: [] };
      return { ...ended, notApplied: [] };
    } finally {
      release();
    }
  }

  async close(): Promise<void> {
    this.#wrapped.group.kill();
    await this.#wrapped.group.ended;
  }
}

/** Whether a Node that was started with `own` limits can be this call. Those limits were set when it started, and it has read its variables. */
export function takesNodeCall(
  { command, args = [], env = {} }: FolderCommand,
  limits: CommandLimits,
  own: CommandLimits,
): boolean {
  if (command !== nodeInBox) return false;
  const [first, second] = args;
  const isProgram = first === "-e" ? second !== undefined : first !== undefined && !first.startsWith("-");
  const set = ["cpuSeconds", "addressSpaceMb", "fileMb", "processes", "memoryMb"] as const;
  const isSame = set.every((name) => limits[name] === own[name]);
  return isProgram && isSame && !Object.keys(env).some((name) => /^(NODE_|LD_)/.test(name));
}
