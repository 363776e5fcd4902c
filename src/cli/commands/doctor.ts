import { LudusError } from "../../errors.ts";
import { checklist, diagnoseFully, storedView } from "../../monitor/index.ts";
import { openRun } from "../../store/index.ts";
import type { Command } from "../command.ts";
import { type DoctorReport, doctorText } from "../doctor-report.ts";
import { openRecomputer, type Recomputer } from "../recompute-logprobs.ts";

export const doctor: Command = {
  name: "doctor",
  summary: "Say what is wrong with a run, by what it is seen and what to do",
  example: "ludus doctor runs/first",
  async run(args, { stdout }) {
    const isJson = args.includes("--json");
    const [directory, ...others] = args.filter((arg) => arg !== "--json");
    if (directory === undefined || directory.startsWith("-") || others.length > 0) {
      const got = args.length === 0 ? "nothing" : args.join(" ");
      throw new LudusError("bad-arguments", { got, expected: "ludus doctor <run folder> [--json]" });
    }
    const report = await examine(directory);
    stdout.write(isJson ? `${JSON.stringify(report, undefined, 2)}\n` : doctorText(report));
    return report.findings.some(({ severity }) => severity === "error") ? 1 : 0;
  },
};

async function examine(directory: string): Promise<DoctorReport> {
  const reader = await openRun(directory, { readOnly: true });
  let recomputer: Recomputer | undefined;
  try {
    recomputer = await openRecomputer(directory);
    const view = await storedView(reader, { steps: recomputer.steps });
    const diagnosis = await diagnoseFully(view, { recompute: recomputer.recompute });
    return { run: directory, ...diagnosis, checklist: checklist(view) };
  } finally {
    await recomputer?.close();
    await reader.close();
  }
}
