import { createRng } from "../../../src/random.ts";

/** How many new tokens a turn has and how many its observation, from and to. */
export interface TurnKind {
  readonly name: string;
  readonly fresh: readonly [number, number];
  readonly observation: readonly [number, number];
}

export const turns = 4;
export const promptLength = 64;

export const kinds: readonly TurnKind[] = [
  { name: "short", fresh: [12, 12], observation: [12, 12] },
  { name: "mixed", fresh: [12, 64], observation: [12, 256] },
  { name: "long", fresh: [64, 64], observation: [256, 256] },
];

export interface Cell {
  readonly model: string;
  readonly rollouts: number;
  readonly kind: TurnKind;
}

/** What one rollout is made of. */
export interface RolloutPlan {
  readonly prompt: Int32Array;
  readonly turns: readonly { readonly fresh: number; readonly observation: Int32Array }[];
}

/** The rollouts of a round, the same for the same round; others every round, so that no prompt is known from the last. */
export function planRollouts({ rollouts, kind }: Cell, vocabularySize: number, round: number): RolloutPlan[] {
  const rng = createRng(round);
  const draw = (length: number) => Int32Array.from({ length }, () => rng.integer(vocabularySize));
  const between = ([low, high]: readonly [number, number]) => low + rng.integer(high - low + 1);
  return Array.from({ length: rollouts }, () => ({
    prompt: draw(promptLength),
    turns: Array.from({ length: turns }, () => ({
      fresh: between(kind.fresh),
      observation: draw(between(kind.observation)),
    })),
  }));
}

export const newTokens = (plans: readonly RolloutPlan[]): number =>
  plans.reduce((sum, plan) => sum + plan.turns.reduce((inner, { fresh }) => inner + fresh, 0), 0);
