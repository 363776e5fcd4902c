import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import type { Trajectory } from "../../schema/trajectory.ts";
import { checkBudget, checkCounts, type SearchBudget, Spending } from "./budget.ts";
import type { OpenAttempt } from "./open-attempt.ts";
import { discard, failing, finalValue, playOn, type Search, type SearchValue } from "./search.ts";

export interface StepLabelsOptions {
  /** N: how often the policy goes on from each turn. */
  continuations: number;
  /** Which of them are right: those worth more than one half; 1 where the environment calls it a success by default. */
  value: SearchValue;
  budget: SearchBudget;
}

const knownStepLabelsOptions: KnownOptions<StepLabelsOptions> = { continuations: true, value: true, budget: true };

/**
 * Math-Shepherd's labels (arXiv 2312.08935): attempts are those of the policy as it is, and after each turn it goes on from there on several copies.
 * How many were right is recorded with the turn as the annotation `step`. `stepLabelsOf` reads them, hard (any was right) or soft (the share).
 *
 *     const report = await evaluate(withSearch(env, stepLabels({ continuations: 8 })), policy);
 *     const scorer = await trainStepScorer(policy, report.rollouts.flatMap(({ trajectories }) => trajectories));
 */
export function stepLabels(options: Partial<StepLabelsOptions> = {}): Search {
  refuseUnknownOptions("stepLabels", options, knownStepLabelsOptions);
  const { continuations, value, budget } = { continuations: 4, value: succeeded, budget: {}, ...options };
  checkCounts("stepLabels", { continuations });
  checkBudget("stepLabels", budget);
  return {
    name: "step-labels",
    async play(begin, own) {
      const spending = new Spending(budget, own);
      const attempt = await begin({ id: own.id, seed: own.seed });
      await failing(attempt, async () => {
        while (attempt.stop === undefined) {
          const { turns } = attempt;
          await playOn(attempt, spending);
          if (attempt.turns === turns || attempt.stop !== undefined || spending.isSpent) continue;
          const right = await goOn(attempt, continuations, value, spending);
          if (right.length === 0) continue;
          const step = { kind: "math-shepherd", right: right.filter(Boolean).length, of: right.length };
          attempt.annotate({ step });
        }
      });
      return attempt.played();
    },
  };
}

function succeeded({ trajectories }: { readonly trajectories: readonly Trajectory[] }): number {
  return trajectories[0]?.score.success ? 1 : 0;
}

async function goOn(
  attempt: OpenAttempt,
  continuations: number,
  value: SearchValue,
  spending: Spending,
): Promise<boolean[]> {
  const copies: OpenAttempt[] = [];
  const right: boolean[] = [];
  try {
    for (let i = 0; i < continuations && !spending.isSpent; i++) {
      const copy = await attempt.copy({ id: spending.nextId(), seed: spending.next() });
      copies.push(copy);
      while (copy.stop === undefined) await playOn(copy, spending, spending.spend);
      const worth = await finalValue(copy.played(), value);
      if (worth !== undefined) right.push(worth > 0.5);
    }
    return right;
  } finally {
    await discard(copies);
  }
}

/**
 * By turn, how likely it leads to a success: 1 where any continuation did (`hard`), or the share that did (`soft`). The last turn has the attempt's
 * own success. Undefined of turns without a label.
 */
export function stepLabelsOf(
  { turns, score }: Pick<Trajectory, "turns" | "score">,
  kind: "hard" | "soft" = "soft",
): readonly (number | undefined)[] {
  return turns.map(({ annotations }, index) => {
    if (index === turns.length - 1) return score.success ? 1 : 0;
    const step = annotations?.step;
    if (typeof step !== "object" || step === null || !("right" in step) || !("of" in step)) return undefined;
    const share = Number(step.right) / Number(step.of);
    if (!(share >= 0 && share <= 1)) return undefined;
    return kind === "soft" ? share : share > 0 ? 1 : 0;
  });
}
