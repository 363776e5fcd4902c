import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { makeScore } from "../schema/score.ts";
import type { Turn } from "../schema/turn.ts";
import { makeReward } from "./make-reward.ts";
import type { Reward } from "./reward.ts";

export interface ThoughtStateOptions {
  /** What a turn's thought says the state is; undefined where it says nothing of it. The text between `<think>` and `</think>` by default. */
  stated: (turn: Turn) => string | undefined;
  /** What the state was; what the environment calls it (`stateKey`) by default. */
  actual: (turn: Turn) => string | undefined;
  /** Whether both mean the same; whether the thought contains the state, blanks aside, by default. */
  agree: (stated: string, actual: string) => boolean;
  /** What an episode gets whose thoughts all agree. */
  weight: number;
}

const known: KnownOptions<ThoughtStateOptions> = { stated: true, actual: true, agree: true, weight: true };

const defaults: ThoughtStateOptions = {
  stated: ({ text }) => /<think>(.*?)<\/think>/s.exec(text)?.[1],
  actual: ({ stateKey }) => stateKey,
  agree: (stated, actual) => withoutBlanks(stated).includes(withoutBlanks(actual)),
  weight: 0.1,
};

/**
 * A reasoning-aware reward: the share of turns whose thought describes the state as it was, times `weight`. Without one, thoughts fade while success rises: RAGEN's finding, which
 * asks for finer signals and names none. This one is checkable, in worlds whose states have names. Turns whose state has no name do not count.
 *
 *     composite({ outcome, thoughts: thoughtState({ weight: 0.2 }) })
 */
export function thoughtState<Data, State = unknown>(options: Partial<ThoughtStateOptions> = {}): Reward<Data, State> {
  refuseUnknownOptions("thoughtState", options, known);
  const { stated, actual, agree, weight } = { ...defaults, ...options };
  if (!(Number.isFinite(weight) && weight >= 0)) {
    throw new LudusError("bad-option", { got: `weight ${weight} of thoughtState`, expected: "0 or more" });
  }
  return makeReward(
    ({ turns }) => {
      const named = turns.flatMap((turn) => {
        const state = actual(turn);
        return state === undefined ? [] : [{ said: stated(turn), state }];
      });
      const right = named.filter(({ said, state }) => said !== undefined && agree(said, state)).length;
      return makeScore({ thoughts: named.length === 0 ? 0 : (weight * right) / named.length }, false);
    },
    { range: [0, weight] },
  );
}

function withoutBlanks(text: string): string {
  return text.replace(/\s+/g, "");
}
