import type { Command } from "../command.ts";
import { type OptionTable, onlyArguments, parseOptions } from "../parse-options.ts";

const options = {
  limit: { type: "number", summary: "Maximum number of runs; 50 by default" },
  json: { type: "boolean", summary: "Print one JSON value" },
} as const satisfies OptionTable;

export const runs: Command = {
  name: "runs",
  summary: "List the runs in a folder or on a server, newest first",
  usage: "[dir|postgres://…]",
  options,
  details: `The default folder is runs/; postgres://user@host/database is a server (npm install pg; the password: PGPASSWORD), whose runs other\ncommands know as postgres://user@host/database#<run>. success is from the last step, eval from the last evaluation.
A run that started from another one (ludus train --from) says which, and from which step.
The state is running, the reason for the end (finished, stopped, early-stop, time-budget, token-budget, failed), interrupted: its process is
gone and did not end it, or silent: the process is there, and nothing was written for two minutes. ludus train --resume resumes runs
that are stopped, interrupted or failed.`,
  example: "ludus runs --limit 10",
  async run(args, terminal) {
    const { values, positionals } = parseOptions(args, options);
    const [directory = "runs"] = onlyArguments(positionals, { least: 0, most: 1 }, "one folder at most", "runs");
    const { listRuns, runsText } = await import("../list-runs.ts");
    const { addressedRuns } = await import("../../store/index.ts");
    const list = await listRuns(addressedRuns(directory), values.limit ?? 50);
    terminal.stdout.write(values.json ? `${JSON.stringify(list.runs)}\n` : runsText(list, directory, terminal.stdout));
    return 0;
  },
};
