/** A reward in parts. Parts are logged and plotted; the total is what is learned from. */
export interface Score {
  readonly total: number;
  readonly parts: Readonly<Record<string, number>>;
  /** Whether the task was solved: what evaluations count. */
  readonly success: boolean;
}

/** Whether a score counts as solved when nobody says: the part `outcome` has reached 1, or, without one, the total. */
export function makeScore(parts: Readonly<Record<string, number>>, success?: boolean): Score {
  const total = Object.values(parts).reduce((sum, part) => sum + part, 0);
  return { total, parts, success: success ?? (parts.outcome ?? total) >= 1 };
}
