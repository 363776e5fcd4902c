import type { Command } from "../command.ts";
import { type OptionTable, parseOptions, usageError } from "../parse-options.ts";

const options = {
  json: { type: "boolean", summary: "Print one JSON value" },
} as const satisfies OptionTable;

export const doctor: Command = {
  name: "doctor",
  summary: "Say what is wrong with a run, how it shows and what to do",
  usage: "<run folder>",
  options,
  details: `Looks at a run that has ended or is going on: failure modes of training, invariants of what was stored, and a checklist.
The exit status is 1 when there is an error among the findings.`,
  example: "ludus doctor runs/first",
  async run(args, { stdout }) {
    const { values, positionals } = parseOptions(args, options);
    const [directory, ...others] = positionals;
    if (directory === undefined || others.length > 0) {
      const got = positionals.length === 0 ? "nothing" : positionals.join(" ");
      throw usageError("bad-usage", { got, expected: "the folder of one run", hint: "See ludus doctor --help." });
    }
    // the engine and the store are loaded when needed
    const { doctorText, examineRun } = await import("../doctor-report.ts");
    const { sqliteRuns } = await import("../../store/index.ts");
    const report = await examineRun(sqliteRuns(), directory);
    stdout.write(values.json ? `${JSON.stringify(report, undefined, 2)}\n` : doctorText(report));
    return report.findings.some(({ severity }) => severity === "error") ? 1 : 0;
  },
};
