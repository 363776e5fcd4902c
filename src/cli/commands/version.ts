import { readFileSync } from "node:fs";
import type { Command } from "../command.ts";

export const version: Command = {
  name: "version",
  summary: "Print the version of ludus",
  example: "ludus version",
  async run(_args, { stdout }) {
    stdout.write(`${packageVersion()}\n`);
    return 0;
  },
};

function packageVersion(): string {
  // the same number of folders up from src/cli/commands and from dist/cli/commands
  const { version } = JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8"));
  return String(version);
}
