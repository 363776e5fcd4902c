import { makeScore, type Score } from "../schema/score.ts";
import type { Turn } from "../schema/turn.ts";
import type { ScoreParts } from "./env.ts";

/** What `score` gave, with the rewards of the turns as one more part. Throws where something in it is not a finite number. */
export function withTurnRewards(given: ScoreParts, turns: readonly Pick<Turn, "reward">[]): Score {
  const score = addTurns(given, turns);
  for (const [part, value] of [...Object.entries(score.parts), ["total", score.total] as const]) {
    if (!Number.isFinite(value)) throw new TypeError(`score part "${part}" is ${value}, not a finite number`);
  }
  return score;
}

function addTurns(given: ScoreParts, turns: readonly Pick<Turn, "reward">[]): Score {
  const reward = turns.reduce((sum, turn) => sum + turn.reward, 0);
  const isPaid = turns.some((turn) => turn.reward !== 0);
  const add = (parts: Readonly<Record<string, number>>) =>
    isPaid ? { ...parts, turns: (parts.turns ?? 0) + reward } : parts;
  if (typeof given === "number") return makeScore(add({ outcome: given }), given >= 1);
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw new TypeError(`score returned ${JSON.stringify(given)}, not a number or parts`);
  }
  if (isScore(given)) return { ...given, total: given.total + reward, parts: add(given.parts) };
  const success = Object.keys(given).length > 0 ? makeScore(given).success : reward >= 1;
  return makeScore(add(given), success);
}

function isScore(given: Exclude<ScoreParts, number>): given is Score {
  return typeof given.total === "number" && typeof given.parts === "object";
}
