import { LudusError } from "../errors.ts";
import type { Command, Terminal } from "./command.ts";
import { nearest } from "./nearest.ts";

/** Runs one command line and returns its exit status: 0 done, 1 failed, 2 not understood. */
export async function runCli(
  args: readonly string[],
  commands: readonly Command[],
  terminal: Terminal,
): Promise<number> {
  const [first, ...rest] = args;
  if (first === undefined || first === "--help" || first === "-h" || first === "help") {
    terminal.stdout.write(helpText(commands));
    return 0;
  }
  const name = first === "--version" || first === "-v" ? "version" : first;
  const command = commands.find((known) => known.name === name);
  if (command === undefined) return report(unknownCommand(name, commands), 2, terminal);
  try {
    return await command.run(rest, terminal);
  } catch (error) {
    if (error instanceof LudusError) return report(error, 1, terminal);
    throw error;
  }
}

function report(error: LudusError, status: number, terminal: Terminal): number {
  terminal.stderr.write(`${error.message}\n`);
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

function helpText(commands: readonly Command[]): string {
  const width = Math.max(...commands.map((command) => command.name.length));
  return `Ludus trains LLM agents with reinforcement learning.

Usage: ludus <command> [arguments]

Commands:
${commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`).join("\n")}

Options:
  --help     Print this text
  --version  Print the version of ludus

Example:
  ${commands[0]?.example ?? "ludus --help"}
`;
}
