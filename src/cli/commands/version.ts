import { packageVersion } from "../../checkpoint/package-version.ts";
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
