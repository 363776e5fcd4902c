import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { makeScore } from "../schema/score.ts";
import { parseRagenActions, ragenPenalties } from "../scorer/ragen.ts";
import { makeReward } from "./make-reward.ts";
import type { Reward } from "./reward.ts";

export interface RagenFormatOptions<Data> {
  /** For each turn without a valid action, or with one that is not. */
  penalty: number;
  /** The sum goes no lower. Ours, so that a long episode cannot outweigh its outcome; −1 is ten turns. */
  floor: number;
  /** The actions of a turn; by default those of `<think>…</think><answer>a || b</answer>`. */
  actions: (text: string) => readonly string[];
  /** Whether the environment knows an action; by default it knows all. */
  isValid: (action: string, task: Data) => boolean;
}

const knownRagenFormatOptions: KnownOptions<RagenFormatOptions<unknown>> = {
  penalty: true,
  floor: true,
  actions: true,
  isValid: true,
};

/** RAGEN (arXiv 2504.20073): −0.1 for every turn whose format is broken or whose actions are not all valid, solved or not. */
export function ragenFormat<Data, State = unknown>(
  options: Partial<RagenFormatOptions<Data>> = {},
): Reward<Data, State> {
  refuseUnknownOptions("ragenFormat", options, knownRagenFormatOptions);
  const { penalty = -0.1, floor = -1, actions = (text) => parseRagenActions(text), isValid = () => true } = options;
  return makeReward(
    ({ task, turns }) => {
      const read = turns.map(({ text }) => {
        const proposed = actions(text);
        return { proposed, valid: proposed.filter((action) => isValid(action, task)).length };
      });
      const sum = ragenPenalties(read, { penalty }).reduce((all, one) => all + one, 0);
      return makeScore({ format: Math.max(floor, sum) });
    },
    { range: [floor, 0] },
  );
}
