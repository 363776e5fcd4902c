import type { Command } from "../command.ts";
import { commandHelp } from "../help-text.ts";
import { commandsBySubject } from "./commands-by-subject.ts";

/** `docs/reference/commands.md`: what the commands say of themselves. */
export function commandsPage(commands: readonly Command[]): string {
  const rows = commands.map(
    ({ name, summary, example }) => `| [\`${name}\`](#ludus-${name}) | ${summary} | \`${example}\` |`,
  );
  const sections = commands.map((command) => `## ludus ${command.name}\n\n\`\`\`text\n${commandHelp(command)}\`\`\`\n`);
  const subjects = commandsBySubject.map(
    ({ subject, command, page }) => `| ${subject} | \`${command}\` | [${page}](../${page}) |`,
  );
  return `# Commands

Made from the commands' own help by \`LUDUS_WRITE_DOCS=1 npm test -- src/cli/commands-page\`, which otherwise checks that it is
still so.

| command | what it does | example |
|---|---|---|
${rows.join("\n")}

Exit status: 0 done, 1 failed, 2 not understood, 130 stopped with Ctrl-C. Errors go to stderr and say what was got, what was
expected and what to do; \`--stack\` adds where in the program they arose, and so does
\`DEBUG=ludus\`. Colours and lines that are drawn again are for terminals alone; \`NO_COLOR\` turns colours off.

## Agents as people have them

What agents bring along, where they run and what they are measured by: one command for each, which a test runs.

| | command | more |
|---|---|---|
${subjects.join("\n")}

${sections.join("\n")}`;
}
