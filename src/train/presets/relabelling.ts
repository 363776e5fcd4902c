import { type KnownOptions, refuseOtherValue, refuseUnknownOptions } from "../../known-options.ts";
import { scaleLoss, sumLosses } from "../../loss/combine.ts";
import type { CorrectionLevel } from "../../loss/corrections.ts";
import { imitation } from "../../loss/imitation.ts";
import { refuseWithoutEffect } from "../../option-without-effect.ts";
import type { TrainRow } from "../../schema/train-batch.ts";
import { isRelabelled } from "../../schema/trajectory.ts";
import type { Algorithm } from "../algorithm.ts";
import { onlyRows, weightedRows } from "./other-prompt-rows.ts";

interface RelabellingSettings {
  /**
   * `imitate`: -log π of relabelled attempts that succeeded, and they are in no other term. `importance`: the algorithm's own loss, their
   * advantages times min(π at the new task / π at the one they were sampled for, `cap`); `hindsight` has to add failures to compare with.
   */
  offPolicy: "imitate" | "importance";
  /** What imitation counts beside the algorithm's loss. */
  coefficient: number;
  cap: number;
  level: CorrectionLevel;
}

/** What may be given: each way of learning has its own options. */
export type RelabellingOptions =
  | { offPolicy?: "imitate"; coefficient?: number; cap?: never; level?: never }
  | { offPolicy: "importance"; cap?: number; level?: CorrectionLevel; coefficient?: never };

const known: KnownOptions<RelabellingSettings> = { offPolicy: true, coefficient: true, cap: true, level: true };
const defaults: RelabellingSettings = { offPolicy: "imitate", coefficient: 1, cap: 2, level: "token" };

/**
 * An algorithm that also learns from attempts that were sampled for another task than the one they are learned from:
 *
 *     train({ …, guide: hindsight({ achieved: env.achieved }), algorithm: relabelling(grpo()) })
 *
 * What is done with attempts at their own tasks does not change. Without it, relabelled attempts are taken for attempts at the new task,
 * which the policy would not have made so often.
 */
export function relabelling(algorithm: Algorithm, options: RelabellingOptions = {}): Algorithm {
  refuseUnknownOptions<Partial<RelabellingSettings>>("relabelling", options, known);
  const { offPolicy, coefficient, cap, level } = { ...defaults, ...options };
  refuseOtherValue("offPolicy of relabelling", offPolicy, ["imitate", "importance"]);
  const isImitated = offPolicy === "imitate";
  refuseWithoutEffect("relabelling", options, isImitated ? ["cap", "level"] : ["coefficient"], {
    when: `with offPolicy "${offPolicy}"`,
    hint: `Leave it out, or use offPolicy "${isImitated ? "importance" : "imitate"}".`,
  });
  const name = `${algorithm.name}-relabelling-${offPolicy}`;
  switch (offPolicy) {
    case "importance": {
      const loss = weightedRows(isOther, algorithm.loss, { cap, level, metric: "hindsight/weight" });
      return { ...algorithm, name, loss };
    }
    case "imitate": {
      const ofSuccesses = scaleLoss(onlyRows(isOther, { ...imitation(), name: "hindsight-imitation" }), coefficient);
      return {
        ...algorithm,
        name,
        loss: sumLosses([onlyRows((row) => !isOther(row), algorithm.loss), ofSuccesses]),
        learnFrom: (trajectory) =>
          isRelabelled(trajectory) ? trajectory.score.success : algorithm.learnFrom?.(trajectory) !== false,
      };
    }
    default:
      return offPolicy satisfies never;
  }
}

function isOther({ isRelabelled }: TrainRow): boolean {
  return isRelabelled === true;
}
