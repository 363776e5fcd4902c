import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";

// T: turns of one episode

type Goals = ReadonlySet<string>;

/** What a goal is worth: the same for all, or by name (0 for one without). */
export type GoalBonus = number | Readonly<Record<string, number>>;

/** A bonus for every goal on the first turn that achieves it, never again: holding a goal or reaching it again adds nothing. */
export function firstVisitBonuses(achieved_T: readonly Goals[], bonus: GoalBonus): number[] {
  const seen = new Set<string>();
  return achieved_T.map((achieved) => {
    const fresh = [...achieved].filter((goal) => !seen.has(goal));
    for (const goal of fresh) seen.add(goal);
    return fresh.reduce((sum, goal) => sum + bonusOf(goal, bonus), 0);
  });
}

export interface PotentialOptions {
  /** How good it is to have these goals. */
  potential: (achieved: Goals) => number;
  /** The discount that returns are computed with. */
  gamma: number;
  /** Goals that hold before the first turn. */
  initial: Goals;
  /**
   * The potential after the last turn. `zero` leaves the best policy as it was (Ng, Harada and Russell 1999); `keep` lets what
   * was achieved add to the return.
   */
  end: "zero" | "keep";
}

const knownPotentialOptions: KnownOptions<PotentialOptions> = {
  potential: true,
  gamma: true,
  initial: true,
  end: true,
};

/**
 * Potential-based shaping: γ·Φ(after) − Φ(before) per turn. Discounted by γ the sum telescopes to γ^T·Φ(end) − Φ(start), so
 * that going back and forth gains nothing.
 */
export function potentialShaping(
  achieved_T: readonly Goals[],
  options: Pick<PotentialOptions, "potential"> & Partial<PotentialOptions>,
): number[] {
  refuseUnknownOptions("potentialShaping", options, knownPotentialOptions);
  const defaults = { gamma: 1, initial: new Set<string>(), end: "zero" as const };
  const { potential, gamma, initial, end } = { ...defaults, ...options };
  let before = potential(initial);
  return achieved_T.map((achieved, turn) => {
    const after = end === "zero" && turn === achieved_T.length - 1 ? 0 : potential(achieved);
    const shaped = gamma * after - before;
    before = after;
    return shaped;
  });
}

function bonusOf(goal: string, bonus: GoalBonus): number {
  if (typeof bonus === "number") return bonus;
  return Object.hasOwn(bonus, goal) ? bonus[goal] : 0;
}
