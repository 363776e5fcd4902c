import type { OptionTable } from "./parse-options.ts";

/** What is written to. Colours and lines that are drawn again are for a TTY alone. */
export interface Screen {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

export type InterruptSignal = "SIGINT" | "SIGTERM";

/** Where a command reads and writes. `process` is one; tests pass their own. */
export interface Terminal {
  readonly stdout: Screen;
  readonly stderr: Screen;
  /** Nothing is asked where it is absent. */
  readonly stdin?: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  /** Ctrl-C and its like; without them nothing interrupts. */
  on?(signal: InterruptSignal, listener: () => void): unknown;
  off?(signal: InterruptSignal, listener: () => void): unknown;
  exit?(status: number): unknown;
}

/**
 * One command of `ludus`. It lives in `commands/<name>.ts` and is listed in `commands/index.ts`. `ludus greet --help` is made
 * of what it says of itself.
 *
 *     const options = { loud: { type: "boolean", summary: "In capitals" } } as const satisfies OptionTable;
 *
 *     export const greet: Command = {
 *       name: "greet",
 *       summary: "Say hello",
 *       usage: "[name]",
 *       options,
 *       example: "ludus greet Ada --loud",
 *       async run(args, { stdout }) {
 *         const { values, positionals: [name = "you"] } = parseOptions(args, options);
 *         stdout.write(values.loud ? `HELLO, ${name}\n` : `Hello, ${name}\n`);
 *         return 0;
 *       },
 *     };
 */
export interface Command {
  readonly name: string;
  /** One line for `ludus --help`. */
  readonly summary: string;
  /** What follows the name, options left out. */
  readonly usage?: string;
  readonly options?: OptionTable;
  /** What more there is to know, for `--help`. */
  readonly details?: string;
  readonly example: string;
  /** Returns the exit status. What it throws exits with 1, a `UsageError` with 2; `explain-error.ts` says what is printed. */
  run(args: readonly string[], terminal: Terminal): Promise<number>;
}
