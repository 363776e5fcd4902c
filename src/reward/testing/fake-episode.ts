import type { CallRecord, Turn } from "../../schema/turn.ts";
import type { ScoredEpisode } from "../reward.ts";

export type FakeTurn = string | (Partial<Turn> & { readonly text: string });

/** A finished episode of these turns; the answer is the last text where none is given. */
export function fakeEpisode<Data, State = undefined>(
  task: Data,
  turns: readonly FakeTurn[],
  more: Partial<ScoredEpisode<Data, State>> & { readonly state?: State } = {},
): ScoredEpisode<Data, State | undefined> {
  const full = turns.map((turn): Turn => {
    const given = typeof turn === "string" ? { text: turn } : turn;
    return { span: { start: 0, end: 0 }, calls: [], reward: 0, observation: "", ...given };
  });
  const signal = new AbortController().signal;
  const answer = full.at(-1)?.text ?? "";
  return { task, state: undefined, answer, turns: full, sampledTokens: 0, stop: "completed", signal, ...more };
}

export function fakeCall(
  name: string,
  args: Readonly<Record<string, unknown>>,
  outcome: CallRecord["outcome"] = "ok",
): CallRecord {
  return { name, arguments: args, outcome, observation: "" };
}
