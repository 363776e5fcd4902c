/** Where a command writes. `process` is one; tests pass their own. */
export interface Terminal {
  readonly stdout: { write(text: string): unknown };
  readonly stderr: { write(text: string): unknown };
}

/**
 * One command of `ludus`. It lives in `commands/<name>.ts` and is listed in `commands/index.ts`.
 *
 *     export const greet: Command = {
 *       name: "greet",
 *       summary: "Say hello",
 *       example: "ludus greet Ada",
 *       async run([name = "you"], { stdout }) {
 *         stdout.write(`Hello, ${name}\n`);
 *         return 0;
 *       },
 *     };
 */
export interface Command {
  readonly name: string;
  /** One line for `ludus --help`. */
  readonly summary: string;
  readonly example: string;
  /** Returns the exit status. A `LudusError` is printed without a stack and exits with 1. */
  run(args: readonly string[], terminal: Terminal): Promise<number>;
}
