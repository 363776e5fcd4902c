import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import type { Score } from "../schema/score.ts";
import { type JudgeClientOptions, judgeClient, knownJudgeClientOptions } from "./judge/judge-client.ts";
import { checkRubric, defaultRubric, type Rubric } from "./judge/rubric.ts";
import { trajectorySections } from "./judge/trajectory-sections.ts";
import type { Verdict } from "./judge/verdict.ts";
import { makeReward } from "./make-reward.ts";
import type { Reward } from "./reward.ts";

export interface JudgeOptions<Data> extends JudgeClientOptions {
  /** What the policy was asked to do. */
  task: (task: Data) => string;
  /** What a right answer is, where that is known. */
  reference?: (task: Data) => string;
  /** By default one criterion, `success`. */
  rubric?: Rubric;
  /** How votes on a criterion become one: `majority`, the most frequent (the lower on a tie), or their `mean`. */
  vote?: "majority" | "mean";
  /** The share of the rubric from which on a vote calls the task solved; more than half of the votes must. */
  successAt?: number;
  /** Longer trajectories are cut in the middles of their texts. */
  maxChars?: number;
}

const knownJudgeOptions: KnownOptions<JudgeOptions<unknown>> = {
  ...knownJudgeClientOptions,
  task: true,
  reference: true,
  rubric: true,
  vote: true,
  successAt: true,
  maxChars: true,
};

const instructions =
  "You judge what an agent did. You are shown its task, what it said (POLICY), what it was told (ENVIRONMENT) and its final answer.";

/**
 * A language model as the judge, through any OpenAI-compatible endpoint:
 *
 *     judge({ endpoint: "http://127.0.0.1:8000/v1", models: ["judge-small"], task: (task: Question) => task.question })
 *
 * Each criterion is a part, in proportion to its weight; all in full are 1. A judge that fails (no answer, no
 * verdict, no budget) is an error and never a score. Give the environment a `limits.envMs` that leaves time for retries.
 */
export function judge<Data, State = unknown>(options: JudgeOptions<Data>): Reward<Data, State> {
  refuseUnknownOptions("judge", options, knownJudgeOptions);
  const { task: asked, reference, vote = "majority", successAt = 1, maxChars = 60_000, ...rest } = options;
  const rubric = checkRubric(options.rubric ?? defaultRubric);
  const client = judgeClient(rest);
  return makeReward(
    async (episode) => {
      const sections = [
        { label: "TASK", text: asked(episode.task) },
        ...(reference === undefined ? [] : [{ label: "RIGHT ANSWER", text: reference(episode.task) }]),
        ...trajectorySections(episode, maxChars),
      ];
      const verdicts = await client.ask({ instructions, rubric, sections }, episode.signal);
      return scoreOf(verdicts, rubric, { vote, successAt });
    },
    { range: [0, 1] },
  );
}

type Voting = Required<Pick<JudgeOptions<unknown>, "vote" | "successAt">>;

/** What the votes come to. */
export function scoreOf(verdicts: readonly Verdict[], rubric: Rubric, { vote, successAt }: Voting): Score {
  const weights = rubric.map(({ weight = 1 }) => weight);
  const sum = weights.reduce((all, weight) => all + weight, 0);
  const shares = weights.map((weight) => weight / sum);
  const totalOf = (verdict: Verdict) => verdict.reduce((all, met, index) => all + met * shares[index], 0);
  const joined = rubric.map((_, index) => {
    const votes = verdicts.map((verdict) => verdict[index]);
    return vote === "mean" ? votes.reduce((all, one) => all + one, 0) / votes.length : mostFrequent(votes);
  });
  const solved = verdicts.filter((verdict) => totalOf(verdict) > successAt - 1e-9).length;
  return {
    total: totalOf(joined),
    parts: Object.fromEntries(rubric.map(({ id }, index) => [id, joined[index] * shares[index]])),
    success: solved > verdicts.length / 2,
  };
}

function mostFrequent(votes: readonly number[]): number {
  const sorted = votes.toSorted((a, b) => a - b);
  const countOf = (value: number) => votes.filter((vote) => vote === value).length;
  return sorted.reduce((best, value) => (countOf(value) > countOf(best) ? value : best));
}
