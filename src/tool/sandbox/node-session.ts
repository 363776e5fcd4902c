import { randomBytes } from "node:crypto";
import { EventEmitter } from "node:events";
import type { Readable, Writable } from "node:stream";
import type { HeldMount } from "./bubblewrap-mount.ts";
import { startWrapped, type Wrapped } from "./bubblewrap-run.ts";
import type { FolderCommand } from "./folder-box.ts";
import type { CommandLimits } from "./limits.ts";
import { nodeSessionProgram } from "./node-session-program.ts";
import { nodeInBox, takesNodeCall } from "./node-spare.ts";
import type { GroupEnd } from "./process-group.ts";
import type { Ended } from "./sandbox.ts";
import { type LimitedProcess, withinLimits } from "./within-limits.ts";

const requestPipe = 3;
const outputs = ["stdout", "stderr"] as const;

/**
 * One Node that serves the calls of a box, one at a time, each in a context of `node:vm`: a few milliseconds instead of a start of its own. A call can change
 * what the next call of the same box sees; other boxes are as far away as ever.
 */
export class NodeSession {
  readonly #wrapped: Wrapped;
  readonly #limits: CommandLimits;
  readonly #streams = { stdout: new MarkedStream(), stderr: new MarkedStream() };
  #isGone = false;
  #isBusy = false;

  constructor(held: HeldMount, limits: CommandLimits) {
    this.#limits = limits;
    this.#wrapped = startWrapped({
      file: nodeInBox,
      args: ["-e", nodeSessionProgram],
      cwd: "/",
      env: { PATH: "/usr/bin:/bin", LANG: "C.UTF-8" },
      enter: held.enter,
      view: held.view,
      limits,
      pipes: requestPipe + 1,
    });
    const { child, ended } = this.#wrapped.group;
    child.stdin?.end();
    for (const name of outputs) {
      (child[name] as Readable | null)?.on("data", (chunk: Buffer) => this.#streams[name].read(chunk));
    }
    void ended.then(() => {
      this.#isGone = true;
      if (!this.#isBusy) this.#wrapped.release();
    });
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  get isBusy(): boolean {
    return this.#isBusy;
  }

  /** Whether it could take this call now. Time of the processor would be counted over all calls, and its input is one for all of them. */
  takes(request: FolderCommand, limits: CommandLimits): boolean {
    const [first = ""] = request.args ?? [];
    const isScript = first === "-e" || /\.c?js$/.test(first);
    const isAlone = request.input === undefined || request.input.length === 0;
    const isHere = !this.#isGone && !this.#isBusy && isScript && isAlone && limits.cpuSeconds === undefined;
    return isHere && takesNodeCall(request, limits, this.#limits);
  }

  /** Undefined where it ended before the call began, or the call has to run in a process of its own. */
  async run(request: FolderCommand, limits: CommandLimits, signal: AbortSignal): Promise<Ended | undefined> {
    if (this.#isGone) return undefined;
    this.#isBusy = true;
    const { group, measure, release } = this.#wrapped;
    const token = randomBytes(16).toString("hex");
    const { args = [], cwd = "/", env = {} } = request;
    const marked = Promise.all(outputs.map((name) => this.#streams[name].until(token)));
    let isElsewhere = false;
    const call: LimitedProcess = {
      child: { pid: group.child.pid!, stdout: this.#streams.stdout.emitter, stderr: this.#streams.stderr.emitter },
      kill: () => group.kill(),
      ended: Promise.race([
        group.ended.then((end) => this.#flushed(end)),
        marked.then(([status]): GroupEnd => {
          isElsewhere = status === "elsewhere";
          return { kind: "exited", code: Number(status) || 0 };
        }),
      ]),
    };
    (group.child.stdio[requestPipe] as Writable).write(`${JSON.stringify({ args, cwd, env, token })}\n`);
    try {
      if (signal.aborted) group.kill();
      const ended = await withinLimits(call, limits, signal, measure);
      if (ended.kind !== "exited") group.kill(); // the limit came in the same moment as the end
      if (isElsewhere && ended.kind === "exited") return undefined;
      if (signal.aborted && ended.kind === "exited") return { ...ended, kind: "cancelled", notApplied: [] };
      const isExceeded = measure !== undefined && measure(0) > 0 && ended.kind === "exited";
      if (!isExceeded) return { ...ended, notApplied: [] };
      group.kill(); // its group has been short of memory once, which is all that can be read
      return { ...ended, kind: "out-of-memory", limitMb: limits.memoryMb!, notApplied: [] };
    } finally {
      for (const name of outputs) this.#streams[name].emitter.removeAllListeners();
      this.#isBusy = false;
      if (this.#isGone) release();
    }
  }

  /** What was held back, as it might have been the beginning of a mark. */
  #flushed(end: GroupEnd): GroupEnd {
    for (const name of outputs) this.#streams[name].flush();
    return end;
  }

  async close(): Promise<void> {
    this.#wrapped.group.kill();
    await this.#wrapped.group.ended;
  }
}

/** Gives on what comes, up to a mark. */
class MarkedStream {
  readonly emitter = new EventEmitter();
  #held: Buffer = Buffer.alloc(0);
  #mark: Buffer | undefined;
  #onMark: (status: string) => void = () => {};

  /** The word after the mark. */
  until(token: string): Promise<string> {
    this.#held = Buffer.alloc(0);
    this.#mark = Buffer.from(`\0${token} `);
    return new Promise((resolve) => {
      this.#onMark = resolve;
    });
  }

  read(chunk: Buffer): void {
    const mark = this.#mark;
    if (mark === undefined) return; // after its call
    this.#held = Buffer.concat([this.#held, chunk]);
    const at = this.#held.indexOf(mark);
    if (at < 0) {
      // a mark may have come in part
      this.#give(Math.max(0, this.#held.byteLength - mark.byteLength));
      return;
    }
    const end = this.#held.indexOf("\n", at + mark.byteLength);
    if (end < 0) return;
    const status = this.#held.subarray(at + mark.byteLength, end).toString();
    this.#give(at);
    this.#mark = undefined;
    this.#onMark(status);
  }

  flush(): void {
    if (this.#mark !== undefined) this.#give(this.#held.byteLength);
  }

  #give(bytes: number): void {
    if (bytes > 0) this.emitter.emit("data", this.#held.subarray(0, bytes));
    this.#held = this.#held.subarray(bytes);
  }
}
