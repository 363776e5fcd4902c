import type { Readable, Writable } from "node:stream";
import type { HeldMount } from "./bubblewrap-mount.ts";
import { startWrapped, type Wrapped } from "./bubblewrap-run.ts";
import type { FolderCommand } from "./folder-box.ts";
import type { CommandLimits } from "./limits.ts";
import { pythonZygoteProgram } from "./python-zygote-program.ts";
import type { End, Ended } from "./sandbox.ts";
import { treeMb, watchMemory } from "./watch-memory.ts";

const frame = { out: 1, err: 2, end: 3, ready: 4 } as const;
/** How long a warm interpreter may take to start, and to end a call that is to stop. */
const [startMs, stopMs] = [10_000, 1_000];
const megabyte = 2 ** 20;

/**
 * An interpreter of Python that waits in a box and forks for each call: a few milliseconds instead of a start of its own. One call at a time. All
 * calls have the same hash seed.
 */
export class PythonZygote {
  readonly #wrapped: Wrapped;
  readonly #limits: CommandLimits;
  readonly #ready: Promise<boolean>;
  #isGone = false;
  #isBusy = false;
  #isExceeded = false;
  #received: Buffer = Buffer.alloc(0);
  #onFrame: (kind: number, data: Buffer) => void = () => {};
  #onGone: () => void = () => {};

  constructor(held: HeldMount, limits: CommandLimits) {
    this.#limits = limits;
    this.#wrapped = startWrapped({
      file: "/usr/bin/python3",
      args: ["-I", "-c", pythonZygoteProgram, `${limits.processes ?? 256}`],
      cwd: "/",
      ...{
        env: { PATH: "/usr/bin:/bin", LANG: "C.UTF-8" },
        enter: held.enter,
        view: held.view,
        isFirst: true,
        limitsItself: true,
      },
      limits: limits.memoryMb === undefined ? {} : { memoryMb: limits.memoryMb },
    });
    const { child, ended } = this.#wrapped.group;
    child.stderr?.resume();
    (child.stdout as Readable | null)?.on("data", (chunk: Buffer) => this.#read(chunk));
    this.#ready = new Promise((resolve) => {
      const timer = setTimeout(() => this.#wrapped.group.kill(), startMs);
      this.#onFrame = (kind) => {
        if (kind !== frame.ready) return;
        clearTimeout(timer);
        resolve(true);
      };
      void ended.then(() => {
        clearTimeout(timer);
        this.#isGone = true;
        this.#isExceeded = this.#measure() > 0;
        this.#wrapped.release();
        resolve(false);
        this.#onGone();
      });
    });
  }

  /** Whether it could take this call now. */
  takes({ command, args = [], env = {} }: FolderCommand, limits: CommandLimits): boolean {
    if (this.#isGone || this.#isBusy || command !== "python3") return false;
    const [first, second] = args;
    const isProgram = first === "-c" ? second !== undefined : first !== undefined && !first.startsWith("-");
    const isSame = limits.memoryMb === this.#limits.memoryMb && limits.processes === this.#limits.processes;
    return isProgram && isSame && !Object.keys(env).some((name) => name.startsWith("PYTHON") || name.startsWith("LD_"));
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** Undefined where it ended before the call began. */
  async run(request: FolderCommand, limits: CommandLimits, signal: AbortSignal): Promise<Ended | undefined> {
    this.#isBusy = true;
    try {
      return (await this.#ready) && !this.#isGone ? await this.#call(request, limits, signal) : undefined;
    } finally {
      this.#isBusy = false;
    }
  }

  async #call(request: FolderCommand, limits: CommandLimits, signal: AbortSignal): Promise<Ended> {
    const { child } = this.#wrapped.group;
    const { timeoutMs, outputBytes, memoryMb } = limits;
    const printed: Record<number, Buffer[]> = { [frame.out]: [], [frame.err]: [] };
    let bytes = 0;
    let stopped: End | undefined;
    let killer: NodeJS.Timeout | undefined;
    const stop = (end: End) => {
      if (stopped !== undefined) return;
      stopped = end;
      (child.stdin as Writable).write("stop\n");
      killer = setTimeout(() => this.kill(), stopMs);
    };
    const cancel = () => stop({ kind: "cancelled" });
    const outOfMemory: End = { kind: "out-of-memory", limitMb: memoryMb ?? 0 };
    const timer = setTimeout(() => stop({ kind: "timeout", afterMs: timeoutMs }), timeoutMs);
    const unwatch =
      memoryMb === undefined
        ? () => {}
        : watchMemory(child.pid!, memoryMb, () => stop(outOfMemory), this.#wrapped.measure ?? treeMb);
    signal.addEventListener("abort", cancel, { once: true });
    if (signal.aborted) cancel();
    const end = await new Promise<End>((resolve) => {
      this.#onGone = () => resolve(stopped ?? { kind: "exited", code: 137, signal: "SIGKILL" });
      this.#onFrame = (kind, data) => {
        if (kind === frame.end) resolve(toEnd(Number(data)));
        const room = outputBytes - bytes;
        if (kind !== frame.out && kind !== frame.err) return;
        bytes += data.byteLength;
        if (room > 0) printed[kind]!.push(data.subarray(0, room));
        if (bytes > outputBytes) stop({ kind: "output-limit", bytes });
      };
      (child.stdin as Writable).write(`${JSON.stringify(toRequest(request, limits))}\n`);
    });
    for (const each of [timer, killer]) clearTimeout(each);
    unwatch();
    signal.removeEventListener("abort", cancel);
    if (this.#isGone ? this.#isExceeded : this.#measure() > 0) {
      this.kill(); // its group has been short of memory once, which is all that can be read
      stopped ??= outOfMemory;
    }
    const text = (kind: number) => Buffer.concat(printed[kind]!).toString();
    return { ...(stopped ?? end), stdout: text(frame.out), stderr: text(frame.err), notApplied: [] };
  }

  /** More than 0 where its memory group has been short of memory; it can be read until the group is released. */
  #measure(): number {
    return this.#wrapped.measure?.(0) ?? 0;
  }

  #read(chunk: Buffer): void {
    this.#received = this.#received.byteLength === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    while (this.#received.byteLength >= 5) {
      const size = this.#received.readUInt32BE(1);
      if (this.#received.byteLength < 5 + size) return;
      this.#onFrame(this.#received[0]!, this.#received.subarray(5, 5 + size));
      this.#received = this.#received.subarray(5 + size);
    }
  }

  kill(): void {
    this.#isGone = true;
    this.#wrapped.group.kill();
  }

  async close(): Promise<void> {
    this.kill();
    await this.#wrapped.group.ended;
  }
}

function toRequest(request: FolderCommand, limits: CommandLimits): object {
  const { args = [], input = "", cwd = "/", env = {} } = request;
  const bytes = (megabytes: number | undefined) => megabytes && Math.ceil(megabytes * megabyte);
  return {
    args,
    cwd,
    env,
    input: Buffer.from(input).toString("latin1"),
    limits: {
      ...(limits.cpuSeconds && { RLIMIT_CPU: Math.ceil(limits.cpuSeconds) }),
      ...(limits.addressSpaceMb && { RLIMIT_AS: bytes(limits.addressSpaceMb) }),
      ...(limits.fileMb && { RLIMIT_FSIZE: bytes(limits.fileMb) }),
    },
  };
}

/** A status below zero is a signal. */
function toEnd(status: number): End {
  return { kind: "exited", code: status < 0 ? 128 - status : status };
}
