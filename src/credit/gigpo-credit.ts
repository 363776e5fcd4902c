import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { type CreditAttempt, groupAttempts } from "./attempts.ts";
import type { Credit, CreditRow } from "./credit.ts";
import { creditResult } from "./credit-result.ts";
import { checkScale, type RelativeOptions, relativeAdvantages } from "./relative-advantages.ts";
import { returnsToGo } from "./returns-to-go.ts";
import { fillSampled, zerosLike } from "./spread.ts";
import { rewardsOf, type Step, stepsOf } from "./steps.ts";

export interface GigpoCreditOptions extends Pick<RelativeOptions, "std" | "scale" | "epsilon"> {
  /** Weight of the step's advantage beside the episode's. */
  readonly omega: number;
  /** Per turn, of the returns that are compared at equal states. */
  readonly gamma: number;
}

/** What may be given: see `RelativeChoice`. */
export type GigpoCreditChoice = Partial<GigpoCreditOptions> &
  ({ readonly scale?: "std" } | { readonly scale: "none"; readonly std?: never; readonly epsilon?: never });

const known: KnownOptions<GigpoCreditChoice> = { omega: true, gamma: true, std: true, scale: true, epsilon: true };

const defaults: GigpoCreditOptions = { omega: 1, gamma: 0.95, std: "bessel", scale: "std", epsilon: 1e-6 };

/**
 * GiGPO, from the paper's idea: `A = A_episode + omega * A_step`. The first compares whole rollouts of a group, the second the
 * discounted returns of all its turns that began in the same state. A state met once, or without a name, adds 0. One met
 * twice in a rollout counts twice.
 */
export function gigpoCredit(options: GigpoCreditChoice = {}): Credit {
  refuseUnknownOptions("gigpoCredit", options, known);
  checkScale("gigpoCredit", options);
  const settings = { ...defaults, ...options };
  return {
    name: "gigpo",
    needs: { stateKeys: true },
    assign(rows) {
      const groups = groupAttempts(rows);
      checkStateKeys(rows);
      const advantages_B_T = zerosLike(rows);
      const counts = { turns: 0, anchored: 0 };
      for (const attempts of groups) creditGroup(rows, attempts, settings, advantages_B_T, counts);
      const metrics = { "credit/anchored-turns": counts.anchored / Math.max(1, counts.turns) };
      return creditResult(rows, groups, advantages_B_T, { metrics });
    },
  };
}

function creditGroup(
  rows: readonly CreditRow[],
  attempts: readonly CreditAttempt[],
  { omega, gamma, ...relative }: GigpoCreditOptions,
  out_B_T: readonly Float32Array[],
  counts: { turns: number; anchored: number },
): void {
  const rewards_G = attempts.map(({ net }) => net);
  const episodes_G = relativeAdvantages(rewards_G, relative);
  const turns: { step: Step; episode: number; following: number }[] = [];
  for (const [g, attempt] of attempts.entries()) {
    const steps = stepsOf(rows, attempt);
    const returns_K = returnsToGo(rewardsOf(steps), gamma);
    for (const [k, step] of steps.entries()) turns.push({ step, episode: episodes_G[g], following: returns_K[k] });
  }
  const anchors = Map.groupBy(turns, ({ step }) => step.stateKey);
  for (const [stateKey, members] of anchors) {
    const isNamed = stateKey !== undefined;
    const following = isNamed ? members.map((member) => member.following) : [];
    const steps_N = relativeAdvantages(following, { ...relative, singleton: "zero" });
    for (const [n, { step, episode }] of members.entries()) {
      const advantage = episode + omega * (steps_N[n] ?? 0);
      fillSampled(out_B_T[step.row], rows[step.row].mask_T, advantage, step.start, step.end);
    }
    counts.turns += members.length;
    if (isNamed && members.length > 1) counts.anchored += members.length;
  }
}

// Without any name this is silently GRPO, which is not what was asked for.
function checkStateKeys(rows: readonly CreditRow[]): void {
  const turns = rows.flatMap((row) => row.turns);
  if (turns.length === 0 || turns.some(({ stateKey }) => stateKey !== undefined)) return;
  throw new LudusError("no-state-keys", {
    got: `${turns.length} turns without stateKey`,
    expected: "an environment that names its states",
    hint: "Use groupRelative where states have no names.",
  });
}
