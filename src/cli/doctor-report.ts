import { damagedCheckpoints } from "../checkpoint/index.ts";
import {
  type ChecklistItem,
  checklist,
  type Diagnosis,
  diagnoseFully,
  type Evidence,
  type Finding,
  type Proof,
  type Severity,
  storedView,
} from "../monitor/index.ts";
import { metric } from "../schema/metric-names.ts";
import type { RunCatalog } from "../store/index.ts";
import { withRun } from "./opened-run.ts";
import { openRecomputer } from "./recompute-logprobs.ts";

export interface DoctorReport extends Diagnosis {
  readonly run: string;
  /** Whether there is a step of learning to look at. */
  readonly hasSteps: boolean;
  readonly checklist: readonly ChecklistItem[];
}

/** All the doctor has to say about a stored run. */
export async function examineRun(runs: RunCatalog, id: string): Promise<DoctorReport> {
  return withRun(runs, id, async ({ reader, checkpoints }) => {
    const recomputer = await openRecomputer(checkpoints);
    try {
      const view = await storedView(reader, { steps: recomputer.steps });
      const { findings, proofs } = await diagnoseFully(view, { recompute: recomputer.recompute });
      const all = [...damagedCheckpoints(checkpoints), ...findings];
      const named = all.map((finding) => ({ ...finding, remedy: namedRemedy(finding, id, checkpoints.steps()) }));
      const hasSteps = view.series(metric.reward).length > 0;
      return { run: id, hasSteps, findings: named, proofs, checklist: checklist(view, findings) };
    } finally {
      await recomputer.close();
    }
  });
}

/** The remedy with this run, and its newest checkpoint from before the finding, named. */
function namedRemedy({ remedy, step }: Finding, run: string, checkpoints: readonly number[]): string {
  const before = checkpoints.findLast((each) => each < step);
  const missing = `${run}@STEP (no checkpoint from before step ${step} is retained: save more of them with save: { every, retain })`;
  const checkpoint = before === undefined ? missing : `${run}@${before}`;
  return remedy.replaceAll(/\bRUN(@STEP)?\b/g, (word) => (word === "RUN" ? run : checkpoint));
}

const well = "nothing is wrong with this run.";
const tooEarly = "no step of learning was made, so there is little to look at. ludus runs says how it ended.";

const titles: Readonly<Record<Severity, string>> = { error: "Errors", warning: "Warnings", info: "Good to know" };

/** The report as text: findings by severity with evidence and remedy, what was proved, the checklist. */
export function doctorText({ run, hasSteps, findings, proofs, checklist: items }: DoctorReport): string {
  const severities: readonly Severity[] = ["error", "warning", "info"];
  const sections = severities.flatMap((severity) => {
    const found = findings.filter((finding) => finding.severity === severity);
    return found.length === 0 ? [] : [`${titles[severity]}\n\n${found.map(findingText).join("\n\n")}`];
  });
  const isWell = !findings.some(({ severity }) => severity !== "info");
  return [
    isWell ? `${run}: ${hasSteps ? well : tooEarly}` : `${run}: ${countText(findings)}.`,
    ...sections,
    `Invariants\n\n${proofs.map(proofText).join("\n")}`,
    `Checklist\n\n${items.map(itemText).join("\n")}`,
    "",
  ].join("\n\n");
}

function countText(findings: readonly Finding[]): string {
  const count = (severity: Severity, name: string) => {
    const { length } = findings.filter((finding) => finding.severity === severity);
    return length === 0 ? [] : [`${length} ${name}${length === 1 ? "" : "s"}`];
  };
  return [...count("error", "error"), ...count("warning", "warning")].join(", ");
}

function findingText({ code, message, evidence, remedy, step }: Finding): string {
  const seen = evidenceText(evidence);
  return [
    `  ${code}, since step ${step}`,
    `    ${message}`,
    ...(seen === "" ? [] : [`    Evidence: ${seen}`]),
    `    Remedy: ${remedy}`,
  ].join("\n");
}

function evidenceText(evidence: Evidence): string {
  return Object.entries(evidence)
    .map(
      ([name, value]) =>
        `${name} ${typeof value === "object" ? `[${value.map(valueText).join(", ")}]` : valueText(value)}`,
    )
    .join(", ");
}

function valueText(value: number | string): string {
  if (typeof value === "string") return value.replaceAll("\n", " ");
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(4)));
}

function proofText({ invariant, checked, unit, findings, notChecked }: Proof): string {
  const status = notChecked !== undefined || checked === 0 ? "not checked" : findings.length === 0 ? "holds" : "broken";
  return `  ${status.padEnd(11)}  ${invariant} (${notChecked ?? `${checked} ${unit}`})`;
}

function itemText({ item, status, summary }: ChecklistItem): string {
  return `  ${status.padEnd(7)}  ${item}: ${summary}`;
}
