import { metric } from "../../../schema/metric-names.ts";
import type { Detector, Finding } from "../detector.ts";
import { beganAt, learningPoints, percent, recentMean, referencePoints, short } from "../trend.ts";

const code = "kl-explosion";
const limits = { oldNew: 0.02, reference: 0.5, leastPoints: 3 };

/** The policy moves too far in one step, or too far from the reference. */
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
        step: beganAt(updates, (value) => value > limits.oldNew),
        message: `The KL of one step is ${short(oldNew)} nats per token: the samples soon become off-policy.`,
        evidence: { klOldNew: oldNew, largest: Math.max(...updates.map(({ max }) => max)), limit: limits.oldNew },
        remedy:
          'Lower the learning rate ("by-size" is a start: the best one moves a policy by about 0.001), or make fewer updates per ' +
          "batch (epochs, miniBatches).",
      });
    }
    const far = recentMean(reference);
    if (far !== undefined && reference.length >= limits.leastPoints && far > limits.reference) {
      findings.push({
        code,
        severity: "warning",
        step: beganAt(reference, (value) => value > limits.reference),
        message: `The KL from the reference is ${short(far)} nats per token (${percent(far / limits.reference)} of the usual limit).`,
        evidence: { klReference: far, atFirst: reference[0].value, limit: limits.reference },
        remedy: "Raise the coefficient of the KL penalty, or lower the learning rate.",
      });
    }
    return findings;
  },
};
