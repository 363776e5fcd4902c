import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import type { Score } from "../schema/score.ts";
import { makeScore } from "../schema/score.ts";
import { defaultStageWeights, type StageWeights, stagedParts } from "../scorer/progressive.ts";
import { factsOf, makeReward } from "./make-reward.ts";
import type { Reward, ScoredEpisode } from "./reward.ts";

type Gate<Data, State> = (episode: ScoredEpisode<Data, State>) => boolean;

export interface StagedOptions<Data, State> {
  /** Scores the answer in [0, 1]; asked only once the stages before it hold. */
  answer: Reward<Data, State>;
  /** The output can be parsed; by default no call was malformed. */
  parsed?: Gate<Data, State>;
  /** Calls name tools that exist and fit their schemas; by default none was refused. */
  fits?: Gate<Data, State>;
  /** There is an answer; by default one that is not empty. */
  answered?: Gate<Data, State>;
  weights?: Partial<StageWeights>;
}

const knownStagedOptions: KnownOptions<StagedOptions<unknown, unknown>> = {
  answer: true,
  parsed: true,
  fits: true,
  answered: true,
  weights: true,
};

const none: Score = { total: 0, parts: {}, success: false };

/**
 * Progressive reward shaping (arXiv 2512.07478): later stages count only once earlier ones hold. The four stages and their
 * weights are Ludus's own.
 */
export function staged<Data, State = unknown>(options: StagedOptions<Data, State>): Reward<Data, State> {
  refuseUnknownOptions("staged", options, knownStagedOptions);
  const { answer, parsed = isParsed, fits = hasFittingCalls, answered = hasAnswer, weights = {} } = options;
  const high = Object.values({ ...defaultStageWeights, ...weights }).reduce((sum, weight) => sum + weight, 0);
  return makeReward(
    async (episode) => {
      const gates = { parsed: parsed(episode), fits: fits(episode), answered: answered(episode) };
      const isReached = gates.parsed && gates.fits && gates.answered;
      const score = isReached ? await answer(episode) : none;
      const { answer: outcome, ...stages } = stagedParts({ ...gates, answer: score.total }, weights);
      return makeScore({ ...stages, outcome }, score.success);
    },
    { range: [0, high], ...factsOf(answer) },
  );
}

type Told = Pick<ScoredEpisode, "turns" | "stop" | "answer">;

function isParsed({ turns, stop }: Told): boolean {
  return stop !== "parse-error" && !hasCall(turns, ["malformed"]);
}

function hasFittingCalls({ turns }: Told): boolean {
  return !hasCall(turns, ["unknown-tool", "bad-arguments"]);
}

function hasAnswer({ answer }: Told): boolean {
  return answer.trim() !== "";
}

function hasCall(turns: Told["turns"], outcomes: readonly string[]): boolean {
  return turns.some(({ calls }) => calls.some(({ outcome }) => outcomes.includes(outcome)));
}
