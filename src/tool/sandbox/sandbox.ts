import type { ErrorData } from "./error-data.ts";
import type { CommandLimits, LimitNotApplied } from "./limits.ts";

/**
 * What separates code from this program, weakest first. Code at a level can still do all that is said there:
 *
 * - `none`: everything. It runs in this thread, and nothing can end it.
 * - `thread`: read this program's memory, files and network, and abort the process. Only loops can be ended.
 * - `process`: read and write this user's files, open connections, signal this user's processes, leave its group.
 * - `namespace`: attack the kernel that it shares. Files, processes and network are its own (bubblewrap, a container).
 * - `virtual-machine`: attack the hypervisor or the user-space kernel that runs it (Firecracker, gVisor, a remote machine).
 */
export const sandboxLevels = ["none", "thread", "process", "namespace", "virtual-machine"] as const;
export type SandboxLevel = (typeof sandboxLevels)[number];

/**
 * Where commands that a policy wrote are run. An implementation is one file and passes `sandboxContract`:
 *
 *     const box = await sandbox.open({ files: { "main.py": code }, atLeast: "namespace" }, signal);
 *     try {
 *       const ended = await box.exec("python3", { args: ["main.py"], limits: { timeoutMs: 2_000 }, signal });
 *       const passed = ended.kind === "exited" && ended.code === 0;
 *       const report = await box.read("report.json"); // bytes
 *     } finally {
 *       await box.close();
 *     }
 */
export interface Sandbox {
  /** Names the implementation in errors, images and stored configurations. */
  readonly name: string;
  /** The weakest level that any of its boxes has. */
  readonly level: SandboxLevel;
  /** Whether calls of one box may share a process, and so change what a later call does. Nothing that is scored by a later call may run there. */
  readonly sharesProcess?: boolean;
  /** Rejects where no such box can be had; a box that opened after `signal` was aborted is closed again. */
  open(spec?: BoxSpec, signal?: AbortSignal): Promise<Box>;
}

export interface BoxSpec {
  /** Refuses to open at a weaker level: the first line of every `open` is `requireLevel(this, spec.atLeast)`. */
  readonly atLeast?: SandboxLevel;
  /** The files to begin with, as `snapshot` of a box of the same sandbox gave them; none otherwise. */
  readonly image?: Image;
  /** Written over the image, by path. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
  /** Added to what every command sees: `PATH`, `LANG`, `HOME` and `TMPDIR`. Nothing is inherited from this program. */
  readonly env?: Readonly<Record<string, string>>;
  /** Of each command. */
  readonly limits?: Partial<CommandLimits>;
}

/**
 * Files and processes that belong together. Paths are relative to its root, with `/`. `read`, `write` and `snapshot` reject with a
 * `LudusError`: `box-path-refused` for a path that leaves the box (`..`, absolute, or through a link), `box-file-missing`,
 * `box-file-too-large`, `box-busy`, `box-closed`.
 */
export interface Box {
  /** Runs a program, not a shell line. Whatever it does is a result. It and its children are gone when this resolves. */
  exec(command: string, options?: ExecOptions): Promise<Ended>;
  /** The bytes of a regular file, of `maxReadBytes` at most. */
  read(path: string): Promise<Uint8Array>;
  /** Makes the folders above it. Replaces what is there. */
  write(path: string, content: string | Uint8Array): Promise<void>;
  /** A copy of all files, without processes. Refused with `box-busy` while a command runs: files may be half written. */
  snapshot(): Promise<Image>;
  /** Ends running commands as `cancelled` and removes everything. May be called twice. */
  close(): Promise<void>;
}

/** Files that outlive their box, until they are removed. */
export interface Image {
  /** The `name` of the sandbox that can restore it. */
  readonly sandbox: string;
  readonly id: string;
  remove(): Promise<void>;
}

export interface ExecOptions {
  readonly args?: readonly string[];
  /** Its standard input. */
  readonly input?: string | Uint8Array;
  /** A folder of the box; its root otherwise. */
  readonly cwd?: string;
  /** Over the box's. */
  readonly env?: Readonly<Record<string, string>>;
  /** Over the box's. */
  readonly limits?: Partial<CommandLimits>;
  readonly signal?: AbortSignal;
}

/** How anything ended that ran behind a boundary. Only `not-started` is never the work of the code that was to run. */
export type End =
  /** Where a signal ended it, `code` is its number and 128, as a shell puts it, and `signal` its name, where it is known. */
  | { readonly kind: "exited"; readonly code: number; readonly signal?: string }
  | { readonly kind: "timeout"; readonly afterMs: number }
  | { readonly kind: "out-of-memory"; readonly limitMb: number }
  /** `bytes` is what was printed or returned by then. */
  | { readonly kind: "output-limit"; readonly bytes: number }
  | { readonly kind: "cancelled" }
  /** No such command, or a module that cannot be imported; `name` is the error's name or code, such as `ENOENT`. */
  | ({ readonly kind: "not-started" } & ErrorData);

/** How a command ended, and what it printed by then, within the limit. Bytes that are no UTF-8 become U+FFFD. */
export type Ended = End & {
  readonly stdout: string;
  readonly stderr: string;
  /** Limits that were asked for and do not hold here. */
  readonly notApplied: readonly LimitNotApplied[];
};

/** A function ends in the same ways, or by itself. `state` is there where it was given one. */
export type FunctionEnd =
  | End
  | { readonly kind: "returned"; readonly value: unknown; readonly state?: unknown }
  | ({ readonly kind: "threw" } & ErrorData);

/** How a call ended, and what it printed by then. */
export type FunctionEnded = FunctionEnd & { readonly output: string };

/**
 * Runs one function with data in and data out. It has a level and the same ends as a box, but no files: a thread can be
 * one too.
 */
export interface FunctionRunner {
  readonly level: SandboxLevel;
  /** Whatever the function does is a result; rejects misuse only. */
  run(input: unknown, options?: FunctionCallOptions): Promise<FunctionEnded>;
  /** Cancels what runs and what waits, and resolves when all of it is gone. */
  close(): Promise<void>;
}

export interface FunctionCallOptions {
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
  /** Copied to the function as `context.state`; what is there when it returns is copied back, as `state` of the result. */
  readonly state?: unknown;
}
