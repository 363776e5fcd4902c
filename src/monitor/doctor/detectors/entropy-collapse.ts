import { metric } from "../../../schema/metric-names.ts";
import type { Detector } from "../detector.ts";
import { averagedEnds, learningPoints, short, slopeOf, trendOf } from "../trend.ts";

const code = "entropy-collapse";
const limits = { share: 0.2, solved: 0.9, successFall: 0.1 };

/** The policy has become nearly deterministic, but does not solve the tasks. */
export const entropyCollapse: Detector = {
  code,
  detect(view) {
    const points = learningPoints(view, metric.entropy);
    const entropy = averagedEnds(points);
    const success = trendOf(learningPoints(view, metric.success));
    if (entropy === undefined || success === undefined || entropy.first <= 0) return [];
    // low entropy is fine where tasks are solved
    if (entropy.last > limits.share * entropy.first || success.last >= limits.solved) return [];
    const slope = slopeOf(points);
    return [
      {
        code,
        severity: success.change <= -limits.successFall ? "error" : "warning",
        step: points.at(-1)!.step,
        message:
          `The entropy fell from ${short(entropy.first)} to ${short(entropy.last)} nats per token, and ` +
          `${short(100 * success.last)} % of tasks are solved: the policy no longer explores.`,
        evidence: {
          entropyBefore: entropy.first,
          entropyAfter: entropy.last,
          entropySlope: slope,
          successBefore: success.first,
          successAfter: success.last,
        },
        remedy:
          "Return to a checkpoint from before the fall (ludus train --from run@step). Lower the learning rate, add a KL penalty or an entropy bonus, " +
          "use clip-higher (dapo), or sample at a higher temperature.",
      },
    ];
  },
};
