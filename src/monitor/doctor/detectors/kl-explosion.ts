import { metric } from "../../../schema/metric-names.ts";
import type { Detector, Finding } from "../detector.ts";
import { learningPoints, percent, recentMean, referencePoints, short } from "../trend.ts";

const code = "kl-explosion";
const limits = { oldNew: 0.05, reference: 0.5, leastPoints: 3 };

/** The policy moves too far in one update, or has gone far from where it began. */
export const klExplosion: Detector = {
  code,
  detect(view) {
    const updates = learningPoints(view, metric.klOldNew);
    const reference = referencePoints(view);
    const findings: Finding[] = [];
    const oldNew = recentMean(updates);
    if (oldNew !== undefined && updates.length >= limits.leastPoints && oldNew > limits.oldNew) {
      findings.push({
        code,
        severity: "warning",
        step: updates.at(-1)!.step,
        message: `One step moves the policy by ${short(oldNew)} nats a token; the samples of a step are soon another policy's.`,
        evidence: { klOldNew: oldNew, largest: Math.max(...updates.map(({ max }) => max)), limit: limits.oldNew },
        remedy: "Lower the learning rate, or go through each batch fewer times (epochs, miniBatches).",
      });
    }
    const far = recentMean(reference);
    if (far !== undefined && reference.length >= limits.leastPoints && far > limits.reference) {
      findings.push({
        code,
        severity: "warning",
        step: reference.at(-1)!.step,
        message: `The policy is ${short(far)} nats a token away from the reference (${percent(far / limits.reference)} of what is usual at most).`,
        evidence: { klReference: far, atFirst: reference[0].value, limit: limits.reference },
        remedy: "Raise the coefficient of the KL penalty, or lower the learning rate.",
      });
    }
    return findings;
  },
};
