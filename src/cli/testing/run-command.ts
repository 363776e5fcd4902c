import { EventEmitter } from "node:events";
import type { Terminal } from "../command.ts";
import { builtinCommands } from "../commands/index.ts";
import { runCli } from "../run-cli.ts";

export interface CommandResult {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
  /** What `exit` was called with. */
  readonly exits: readonly number[];
}

export interface RunCommandOptions {
  /** Whether both streams say that they are a terminal. */
  isTTY?: boolean;
  /** Told of everything that is written to stderr; may interrupt. */
  onProgress?: (text: string, interrupt: (signal: "SIGINT" | "SIGTERM") => void) => void;
  /** The same of stdout, such as the address of a server. */
  onOutput?: (text: string, interrupt: (signal: "SIGINT" | "SIGTERM") => void) => void;
}

/** As `ludus <args>` on a command line. */
export async function runCommand(args: readonly string[], options: RunCommandOptions = {}): Promise<CommandResult> {
  const { isTTY = false, onProgress, onOutput } = options;
  const written = { stdout: "", stderr: "" };
  const exits: number[] = [];
  const signals = new EventEmitter();
  const terminal: Terminal = {
    stdout: {
      isTTY,
      columns: 100,
      write(text) {
        written.stdout += text;
        onOutput?.(text, (signal) => signals.emit(signal));
      },
    },
    stderr: {
      isTTY,
      columns: 100,
      write(text) {
        written.stderr += text;
        onProgress?.(text, (signal) => signals.emit(signal));
      },
    },
    on: (signal, listener) => signals.on(signal, listener),
    off: (signal, listener) => signals.off(signal, listener),
    exit: (status) => exits.push(status),
  };
  const status = await runCli(args, builtinCommands, terminal);
  return { status, ...written, exits };
}
