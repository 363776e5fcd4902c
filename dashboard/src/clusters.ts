import type { ShownFinding } from "../../src/server/dashboard/answers.ts";

export interface Cluster {
  readonly x: number;
  /** In the order in which they began. */
  readonly findings: readonly ShownFinding[];
}

/** Findings by where they began, those closer than `apart` together. */
export function clusterFindings(
  findings: readonly ShownFinding[],
  toX: (step: number) => number,
  apart: number,
): readonly Cluster[] {
  const clusters: { x: number; findings: ShownFinding[] }[] = [];
  for (const finding of findings.toSorted((a, b) => a.since - b.since)) {
    const x = toX(finding.since);
    const last = clusters.at(-1);
    if (last !== undefined && x - last.x < apart) last.findings.push(finding);
    else clusters.push({ x, findings: [finding] });
  }
  return clusters;
}

/** The most severe of a cluster. */
export function severityOf({ findings }: Cluster): ShownFinding["severity"] {
  return (["error", "warning"] as const).find((each) => findings.some(({ severity }) => severity === each)) ?? "info";
}
