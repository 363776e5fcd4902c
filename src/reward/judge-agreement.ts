import { LudusError } from "../errors.ts";

/** How a judge called an attempt, and how it was. */
export interface JudgedCase {
  readonly judged: boolean;
  readonly truth: boolean;
}

/** A ratio without cases to take it of is null. */
export interface JudgeAgreement {
  readonly count: number;
  readonly truePositives: number;
  readonly falsePositives: number;
  readonly trueNegatives: number;
  readonly falseNegatives: number;
  readonly accuracy: number;
  /** Of those called solved, how many were: what a policy that is trained on the judge can exploit. */
  readonly precision: number | null;
  /** Of those solved, how many were called so. */
  readonly recall: number | null;
  /** Cohen's: agreement beyond that of chance, 1 at most; null where both always say the same one thing. */
  readonly kappa: number | null;
}

/** How far a judge agrees with the truth. */
export function judgeAgreement(cases: readonly JudgedCase[]): JudgeAgreement {
  const count = cases.length;
  if (count === 0) throw new LudusError("no-cases", { got: "no cases", expected: "one judged case at least" });
  const countOf = (judged: boolean, truth: boolean) =>
    cases.filter((one) => one.judged === judged && one.truth === truth).length;
  const truePositives = countOf(true, true);
  const falsePositives = countOf(true, false);
  const trueNegatives = countOf(false, false);
  const falseNegatives = countOf(false, true);
  const accuracy = (truePositives + trueNegatives) / count;
  const judgedYes = (truePositives + falsePositives) / count;
  const trulyYes = (truePositives + falseNegatives) / count;
  const byChance = judgedYes * trulyYes + (1 - judgedYes) * (1 - trulyYes);
  return {
    count,
    truePositives,
    falsePositives,
    trueNegatives,
    falseNegatives,
    accuracy,
    precision: ratio(truePositives, truePositives + falsePositives),
    recall: ratio(truePositives, truePositives + falseNegatives),
    kappa: ratio(accuracy - byChance, 1 - byChance),
  };
}

function ratio(part: number, whole: number): number | null {
  return whole === 0 ? null : part / whole;
}
