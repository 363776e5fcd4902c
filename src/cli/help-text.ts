import type { Command } from "./command.ts";

/** `ludus --help` */
export function helpText(commands: readonly Command[]): string {
  return `Ludus trains LLM agents with reinforcement learning.

Usage: ludus <command> [arguments]

Commands:
${columns(commands.map(({ name, summary }) => [name, summary]))}

Options:
  --help     Print this text; after a command, its options
  --version  Print the version of ludus
  --stack    After an error, print where in the program it arose

Example:
  ${commands[0]?.example ?? "ludus --help"}
`;
}

/** `ludus <command> --help` */
export function commandHelp({ name, summary, usage, options = {}, details, example }: Command): string {
  const lines = Object.entries(options).map(
    ([option, { type, value, choices, isMany, summary: what }]): [string, string] => {
      const named = value ?? choices?.join("|") ?? (type === "real" ? "number" : type);
      const given = type === "boolean" ? "" : ` <${named}>${isMany ? " …" : ""}`;
      return [`--${option}${given}`, what];
    },
  );
  return [
    `${summary}\n\nUsage: ${["ludus", name, usage, lines.length > 0 ? "[options]" : undefined].filter(Boolean).join(" ")}\n`,
    ...(details === undefined ? [] : [`\n${details}\n`]),
    `\nOptions:\n${columns([...lines, ["--help", "Print this text"]])}\n`,
    `\nExample:\n  ${example}\n`,
  ].join("");
}

/** Lines of two columns, indented. */
export function columns(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(0, ...rows.map(([first]) => first.length));
  return rows.map(([first, second]) => `  ${first.padEnd(width)}  ${second}`.trimEnd()).join("\n");
}
