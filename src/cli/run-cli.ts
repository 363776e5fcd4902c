import { LudusError } from "../errors.ts";
import { nearest } from "../nearest.ts";
import { isPostgresAddress, withoutPassword } from "../store/postgres/address.ts";
import type { Command, Terminal } from "./command.ts";
import { explainError } from "./explain-error.ts";
import { commandHelp, helpText } from "./help-text.ts";
import { harmless } from "./paint.ts";
import { UsageError } from "./parse-options.ts";

/** Runs one command line and returns its exit status: 0 done, 1 failed, 2 not understood. */
export async function runCli(
  args: readonly string[],
  commands: readonly Command[],
  terminal: Terminal,
): Promise<number> {
  const { args: kept, withStack } = takeStack(args);
  const [first, ...rest] = kept;
  if (first === undefined || first === "--help" || first === "-h" || first === "help") {
    terminal.stdout.write(helpText(commands));
    return 0;
  }
  const name = first === "--version" || first === "-v" ? "version" : first;
  const command = commands.find((known) => known.name === name);
  if (command === undefined) return report(unknownCommand(name, commands), 2, withStack, terminal);
  if (asksForHelp(rest)) {
    terminal.stdout.write(commandHelp(command));
    return 0;
  }
  try {
    return await command.run(rest.map(hiddenPassword), terminal);
  } catch (error) {
    return report(error, error instanceof UsageError ? 2 : 1, withStack, terminal);
  }
}

/** Commands repeat what was typed: they are given addresses of servers without the passwords, which this process remembers. */
function hiddenPassword(arg: string): string {
  const [, option = "", value = arg] = /^(--[\w-]+=)(.*)$/s.exec(arg) ?? [];
  return isPostgresAddress(value) ? `${option}${withoutPassword(value)}` : arg;
}

function asksForHelp(args: readonly string[]): boolean {
  const end = args.indexOf("--");
  return (end < 0 ? args : args.slice(0, end)).some((arg) => arg === "--help" || arg === "-h");
}

/** `--stack` may stand anywhere before `--`; `DEBUG=ludus` does the same, and so does `DEBUG=*`. */
function takeStack(args: readonly string[]): { readonly args: readonly string[]; readonly withStack: boolean } {
  const end = args.indexOf("--");
  const kept = args.filter((arg, index) => arg !== "--stack" || (end >= 0 && index > end));
  const isDebug = /(^|[\s,])(ludus|\*|1|true)($|[\s,:])/.test(process.env.DEBUG ?? "");
  return { args: kept, withStack: isDebug || kept.length < args.length };
}

function report(error: unknown, status: number, withStack: boolean, terminal: Terminal): number {
  terminal.stderr.write(`${harmless(explainError(error, withStack))}\n`);
  return status;
}

function unknownCommand(name: string, commands: readonly Command[]): LudusError {
  const names = commands.map((command) => command.name);
  const suggestion = nearest(name, names);
  return new LudusError("unknown-command", {
    got: `"${name}"`,
    expected: `one of ${names.join(", ")}`,
    hint: suggestion === undefined ? "See ludus --help." : `Did you mean "ludus ${suggestion}"?`,
  });
}
