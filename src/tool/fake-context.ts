import { createRng } from "../random.ts";
import { EpisodeBox } from "./sandbox/episode-box.ts";
import { processSandbox } from "./sandbox/process-sandbox.ts";
import type { ToolContext } from "./tool.ts";

export interface FakeContext<State> extends ToolContext<State> {
  readonly rewards: number[];
  readonly answers: (string | undefined)[];
  readonly infos: Readonly<Record<string, number | string | boolean>>[];
  /** Closes the box, if one was opened. */
  close(): Promise<void>;
}

/** A context that keeps what the tool did to the episode. */
export function fakeContext<State>(
  state: State,
  signal: AbortSignal = new AbortController().signal,
): FakeContext<State> {
  const rewards: number[] = [];
  const answers: (string | undefined)[] = [];
  const infos: FakeContext<State>["infos"] = [];
  const episodeBox = new EpisodeBox(processSandbox());
  return {
    state,
    signal,
    rewards,
    answers,
    infos,
    rng: createRng(1),
    box: (spec) => episodeBox.open(spec),
    close: () => episodeBox.close(),
    reward: (value) => void rewards.push(value),
    info: (facts) => void infos.push(facts),
    finish: (answer) => void answers.push(answer),
  };
}
