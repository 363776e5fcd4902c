import type { Utterance } from "../speaker.ts";
import type { Spending } from "./budget.ts";
import type { OpenAttempt } from "./open-attempt.ts";

/** Up to so many turns that the policy would take now, equal ones once; fewer where the budget does not last. */
export async function distinctTurns(attempt: OpenAttempt, count: number, spending: Spending): Promise<Utterance[]> {
  const found = new Map<string, Utterance>();
  for (let i = 0; i < count && (i === 0 || !spending.isSpent); i++) {
    const said = await attempt.propose(spending.next());
    if (said === undefined) break;
    spending.spend(said.tokens.length);
    const key = said.tokens.join();
    if (!found.has(key)) found.set(key, said);
  }
  // it may have ended while turns were proposed: its time was up, or the engine failed
  return attempt.stop === undefined ? [...found.values()] : [];
}
