import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import type { Finding, RunView, Severity } from "./detector.ts";
import { builtinDetectors } from "./detectors/index.ts";
import { builtinInvariants } from "./invariants/index.ts";
import type { Proof } from "./invariants/invariant.ts";
import { logprobsRecomputed, type Recompute } from "./invariants/logprobs-recomputed.ts";

export interface DiagnoseOptions {
  /** Without it, log-probabilities are not checked, and a finding says so. */
  recompute?: Recompute;
}

const knownDiagnoseOptions: KnownOptions<DiagnoseOptions> = { recompute: true };

export interface Diagnosis {
  /** The most severe first. */
  readonly findings: readonly Finding[];
  readonly proofs: readonly Proof[];
}

const rank: Readonly<Record<Severity, number>> = { error: 0, warning: 1, info: 2 };

/** All findings of a run, the most severe first. */
export async function diagnose(view: RunView, options: DiagnoseOptions = {}): Promise<Finding[]> {
  refuseUnknownOptions("diagnose", options, knownDiagnoseOptions);
  return [...(await diagnoseFully(view, options)).findings];
}

/** The same, with the invariants that were checked. */
export async function diagnoseFully(view: RunView, options: DiagnoseOptions = {}): Promise<Diagnosis> {
  refuseUnknownOptions("diagnoseFully", options, knownDiagnoseOptions);
  const { recompute } = options;
  const proofs = await proveInvariants(view, recompute);
  const findings = [...detect(view), ...proofs.flatMap((proof) => proof.findings), ...proofs.flatMap(unchecked)];
  return { findings: sortBySeverity(findings), proofs };
}

/** Detectors only: cheap enough for every step of a run in progress. */
export function detect(view: RunView): Finding[] {
  return sortBySeverity(builtinDetectors.flatMap((detector) => detector.detect(view)));
}

async function proveInvariants(view: RunView, recompute: Recompute | undefined): Promise<Proof[]> {
  return [...builtinInvariants.map((each) => each.prove(view)), await logprobsRecomputed(view, recompute)];
}

function unchecked({ invariant, notChecked }: Proof): Finding[] {
  if (notChecked === undefined) return [];
  return [
    {
      code: "not-checked",
      severity: "info",
      step: 0,
      evidence: { invariant },
      message: `Not checked: ${invariant} (${notChecked}).`,
      remedy: "Retain checkpoints (save: { retain }) and run ludus doctor on the run's folder.",
    },
  ];
}

function sortBySeverity(findings: readonly Finding[]): Finding[] {
  return findings.toSorted((a, b) => rank[a.severity] - rank[b.severity]);
}
