import type { Command } from "../command.ts";
import { harmless } from "../paint.ts";
import { type OptionTable, parseOptions, usageError } from "../parse-options.ts";

const options = {
  json: { type: "boolean", summary: "Print one JSON value" },
} as const satisfies OptionTable;

export const doctor: Command = {
  name: "doctor",
  summary: "Diagnose a run: findings with evidence and remedy",
  usage: "<run folder>",
  options,
  details: `Checks a finished or running run for failure modes of training and for violated invariants, and prints a checklist.
The exit status is 1 when a finding has severity error.`,
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
    const { addressedRuns } = await import("../../store/index.ts");
    const report = await examineRun(addressedRuns(), directory);
    stdout.write(values.json ? `${JSON.stringify(report, undefined, 2)}\n` : harmless(doctorText(report)));
    return report.findings.some(({ severity }) => severity === "error") ? 1 : 0;
  },
};
