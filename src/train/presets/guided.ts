import { withoutHint } from "../../guide/guidance/without-hint.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import { scaleLoss, sumLosses } from "../../loss/combine.ts";
import type { CorrectionLevel } from "../../loss/corrections.ts";
import { imitation } from "../../loss/imitation.ts";
import { refuseWithoutEffect } from "../../option-without-effect.ts";
import type { TrainRow } from "../../schema/train-batch.ts";
import { hintOf } from "../../schema/trajectory.ts";
import type { TrajectoryGroup } from "../../schema/trajectory-group.ts";
import type { Algorithm } from "../algorithm.ts";
import { type PairOptions, type PreferencePair, successPairs } from "../pairs.ts";
import { onlyRows, weightedRows } from "./other-prompt-rows.ts";

interface GuidedSettings {
  /**
   * `context`: the hint stays in the prompt, and guided attempts are on-policy like any others. `stripped`: they are learned
   * from as answers to the prompt without the hint, which is what makes a policy better without hints.
   */
  condition: "context" | "stripped";
  /**
   * What stripped attempts are learned with, for the policy without the hint would not have said them so often. `importance`:
   * the algorithm's own loss, their advantages times min(π without the hint / π with it, `cap`). `imitate`: -log π of those
   * that succeeded, and they are in no other term.
   */
  offPolicy: "importance" | "imitate";
  cap: number;
  level: CorrectionLevel;
  /** What imitation counts beside the algorithm's loss. */
  coefficient: number;
}

/** What may be given: each way of learning has its own options. */
export type GuidedOptions =
  | { condition: "context"; offPolicy?: never; cap?: never; level?: never; coefficient?: never }
  | {
      condition?: "stripped";
      offPolicy: "importance";
      cap?: number;
      level?: CorrectionLevel;
      coefficient?: never;
    }
  | { condition?: "stripped"; offPolicy?: "imitate"; coefficient?: number; cap?: never; level?: never };

const known: KnownOptions<GuidedSettings> = {
  condition: true,
  offPolicy: true,
  cap: true,
  level: true,
  coefficient: true,
};
const defaults: GuidedSettings = {
  condition: "stripped",
  offPolicy: "imitate",
  cap: 2,
  level: "token",
  coefficient: 1,
};

/**
 * An algorithm that also learns from attempts with hints, in both readings of Agent-RLVR:
 *
 *     train({ …, guide: guidance({ hints }), algorithm: guided(grpo(), { condition: "stripped", offPolicy: "imitate" }) })
 *
 * Stripped attempts are compared with the unguided failures before them too, so that a group in which all hints helped is no
 * group of equals. What is done with attempts that had no hint does not change. The published preference learning is
 * `dpo({ pairs: guidedPairs })` on what a run has stored.
 */
export function guided(algorithm: Algorithm, options: GuidedOptions = {}): Algorithm {
  refuseUnknownOptions<Partial<GuidedSettings>>("guided", options, known);
  refuseIdle(options);
  const { condition, offPolicy, cap, level, coefficient } = { ...defaults, ...options };
  if (condition === "context") return { ...algorithm, name: `${algorithm.name}-guided-context` };
  const name = `${algorithm.name}-guided-${offPolicy}`;
  const common: Algorithm = { ...algorithm, name, view: withoutHint, compareWith: earlierFailures };
  switch (offPolicy) {
    case "importance":
      return { ...common, loss: weightedRows(isStripped, algorithm.loss, { cap, level, metric: "guided/weight" }) };
    case "imitate": {
      const ofSuccesses = scaleLoss(onlyRows(isStripped, { ...imitation(), name: "guided-imitation" }), coefficient);
      return {
        ...common,
        loss: sumLosses([onlyRows((row) => !isStripped(row), algorithm.loss), ofSuccesses]),
        learnFrom: (trajectory) =>
          hintOf(trajectory) === undefined ? algorithm.learnFrom?.(trajectory) !== false : trajectory.score.success,
      };
    }
    default:
      return offPolicy satisfies never;
  }
}

function refuseIdle(options: Partial<GuidedSettings>): void {
  const { condition, offPolicy } = { ...defaults, ...options };
  if (condition === "context") {
    refuseWithoutEffect("guided", options, ["offPolicy", "cap", "level", "coefficient"], {
      when: 'with condition "context", where guided attempts are learned from like any others',
      hint: 'Leave it out, or use condition "stripped".',
    });
  } else {
    const isImitated = offPolicy === "imitate";
    refuseWithoutEffect("guided", options, isImitated ? ["cap", "level"] : ["coefficient"], {
      when: `with offPolicy "${offPolicy}"`,
      hint: `Leave it out, or use offPolicy "${isImitated ? "importance" : "imitate"}".`,
    });
  }
}

function isStripped({ viewOffset }: TrainRow): boolean {
  return viewOffset !== undefined;
}

/** Rewards of the attempts without a hint that the hint was written after, where one was told. */
function earlierFailures({ task, trajectories }: TrajectoryGroup): number[] {
  const failures = task.annotations?.failures;
  if (!Array.isArray(failures) || !trajectories.some((each) => hintOf(each) !== undefined)) return [];
  return failures.filter((reward) => typeof reward === "number");
}

/**
 * Attempts that a hint helped to succeed, against attempts at the same task that failed without one; both as answers to the
 * prompt without the hint, so the reference must be a snapshot. A run has them in several groups: give `trainOffline` its
 * `storedTrajectories`, which are put together by task.
 */
export function guidedPairs(
  group: TrajectoryGroup,
  options: Partial<Pick<PairOptions, "choose">> = {},
): PreferencePair[] {
  const compared = group.trajectories.filter((each) => (hintOf(each) !== undefined) === each.score.success);
  return successPairs({ ...group, trajectories: compared.map(withoutHint) }, options);
}
