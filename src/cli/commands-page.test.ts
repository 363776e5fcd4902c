import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { builtinCommands } from "./commands/index.ts";
import { commandHelp } from "./help-text.ts";
import { commandsPage } from "./testing/commands-page.ts";

const file = join(import.meta.dirname, "../../docs/reference/commands.md");
const page = commandsPage(builtinCommands);

test("the page of commands is what they say of themselves", () => {
  if (process.env.LUDUS_WRITE_DOCS === "1") writeFileSync(file, page);
  expect(readFileSync(file, "utf8"), "LUDUS_WRITE_DOCS=1 npm test -- src/cli/commands-page writes it anew").toBe(page);
});

test.each(builtinCommands.map((command) => [command.name, command] as const))(
  "%s has a help with an example",
  (name, command) => {
    const help = commandHelp(command);
    expect(command.example).toMatch(new RegExp(`^ludus ${name}( |$)`));
    const options = command.example.match(/--[a-z]+/g) ?? [];
    for (const option of options) expect(Object.keys(command.options ?? {})).toContain(option.slice(2));
    const tooLong = help.split("\n").filter((line) => line.length > 140);
    expect(tooLong).toEqual([]);
  },
);
