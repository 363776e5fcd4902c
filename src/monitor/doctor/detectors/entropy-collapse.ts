import { defined } from "../../../defined.ts";
import { metric } from "../../../schema/metric-names.ts";
import type { Detector } from "../detector.ts";
import { successOf } from "../success.ts";
import { averagedEnds, beganAt, learningPoints, short, slopeOf } from "../trend.ts";

const code = "entropy-collapse";
const limits = { share: 0.2, successFall: 0.1 };

/** The policy has become nearly deterministic, but does not solve the tasks. */
export const entropyCollapse: Detector = {
  code,
  detect(view) {
    const points = learningPoints(view, metric.entropy);
    const entropy = averagedEnds(points);
    const success = successOf(view);
    if (entropy === undefined || success === undefined || entropy.first <= 0) return [];
    // low entropy is fine where tasks are solved, and where more and more of them are
    if (entropy.last > limits.share * entropy.first || success.isSolved || success.isLearned) return [];
    const slope = slopeOf(points);
    return [
      {
        code,
        severity: success.change <= -limits.successFall ? "error" : "warning",
        step: beganAt(points, (value) => value <= limits.share * entropy.first),
        message:
          `The entropy fell from ${short(entropy.first)} to ${short(entropy.last)} nats per token, and ` +
          `${short(100 * success.last)} % of tasks are solved: the policy no longer explores.`,
        evidence: {
          entropyBefore: entropy.first,
          entropyAfter: entropy.last,
          entropySlope: slope,
          successBefore: success.first,
          successAfter: success.last,
          ...defined({ heldOutSuccess: success.heldOut }),
        },
        remedy:
          "Start again from a checkpoint of before: ludus train train.ts --from RUN@STEP. Lower the learning " +
          "rate, add a KL penalty or an entropy bonus, use clip-higher (dapo), or sample at a higher temperature.",
      },
    ];
  },
};
