import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { makeScore } from "../schema/score.ts";
import type { JsonValue } from "../scorer/json-value.ts";
import { tauBenchScore } from "../scorer/tau-bench.ts";
import { makeReward } from "./make-reward.ts";
import type { Reward, ScoredEpisode } from "./reward.ts";

export interface TauBenchOptions<Data, State> {
  /** The database as the episode left it. */
  database: (episode: ScoredEpisode<Data, State>) => JsonValue;
  /** The database after the gold actions on a fresh copy. */
  goldDatabase: (task: Data) => JsonValue;
  /** What the user must have been told; nothing by default. */
  requiredOutputs?: (task: Data) => readonly string[];
  /** What the user was told; by default what was said in turns without calls, and the answer. */
  responses?: (episode: ScoredEpisode<Data, State>) => readonly string[];
}

const knownTauBenchOptions: KnownOptions<TauBenchOptions<unknown, unknown>> = {
  database: true,
  goldDatabase: true,
  requiredOutputs: true,
  responses: true,
};

/** τ-bench: 1 where the database has the hash it should and the user was told all that was required, else 0. */
export function tauBench<Data, State = unknown>(options: TauBenchOptions<Data, State>): Reward<Data, State> {
  refuseUnknownOptions("tauBench", options, knownTauBenchOptions);
  const { database, goldDatabase, requiredOutputs = () => [], responses = toldToUser } = options;
  return makeReward(
    (episode) =>
      makeScore({
        outcome: tauBenchScore({
          database: database(episode),
          goldDatabase: goldDatabase(episode.task),
          requiredOutputs: requiredOutputs(episode.task),
          responses: responses(episode),
        }),
      }),
    { range: [0, 1] },
  );
}

function toldToUser({ turns, answer }: Pick<ScoredEpisode, "turns" | "answer">): string[] {
  return [...turns.filter(({ calls }) => calls.length === 0).map(({ text }) => text), answer];
}
