import { createRng } from "../random.ts";
import type { ToolContext } from "./tool.ts";

export interface FakeContext<State> extends ToolContext<State> {
  readonly rewards: number[];
  readonly answers: (string | undefined)[];
}

/** A context that keeps what the tool did to the episode. */
export function fakeContext<State>(
  state: State,
  signal: AbortSignal = new AbortController().signal,
): FakeContext<State> {
  const rewards: number[] = [];
  const answers: (string | undefined)[] = [];
  return {
    state,
    signal,
    rewards,
    answers,
    rng: createRng(1),
    reward: (value) => void rewards.push(value),
    finish: (answer) => void answers.push(answer),
  };
}
