import { defined } from "../defined.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { makeScore } from "../schema/score.ts";
import {
  type FuzzyJudge,
  type FuzzyQuestion,
  type HtmlTarget,
  htmlMatch,
  type ReferenceAnswers,
  stringMatch,
  type UrlRule,
  urlMatch,
} from "../scorer/web-arena-checks.ts";
import { makeReward } from "./make-reward.ts";
import type { Reward, ScoredEpisode } from "./reward.ts";

/** Each says what one evaluator needs; undefined where the task is not judged by it. */
export interface WebArenaOptions<Data, State> {
  answers?: (task: Data) => ReferenceAnswers | undefined;
  /** Where the agent ended, and where it should have. */
  url?: (
    episode: ScoredEpisode<Data, State>,
  ) => { readonly visited: string; readonly reference: string; readonly rule?: UrlRule } | undefined;
  /** What the environment found on the pages to look at. */
  html?: (episode: ScoredEpisode<Data, State>) => readonly HtmlTarget[] | undefined;
  /** Answers `fuzzy_match`; `fuzzyJudge` makes one of a language model. */
  judge?: FuzzyJudge<ScoredEpisode<Data, State>>;
  intent?: (task: Data) => string;
  /** Why a task cannot be done. */
  note?: (task: Data) => string;
}

const knownWebArenaOptions: KnownOptions<WebArenaOptions<unknown, unknown>> = {
  answers: true,
  url: true,
  html: true,
  judge: true,
  intent: true,
  note: true,
};

/** WebArena's evaluators: the product of those that apply, so that one that fails makes it 0. */
export function webArena<Data, State = unknown>(options: WebArenaOptions<Data, State>): Reward<Data, State> {
  refuseUnknownOptions("webArena", options, knownWebArenaOptions);
  return makeReward(
    async (episode) => {
      const { task } = episode;
      const url = options.url?.(episode);
      const html = options.html?.(episode);
      const answers = options.answers?.(task);
      let outcome = url === undefined ? 1 : urlMatch(url.visited, url.reference, url.rule);
      if (html !== undefined) outcome *= htmlMatch(html);
      // last, as it may ask a judge
      if (answers !== undefined && outcome > 0) outcome *= await answerScore(episode, answers, options);
      const isJudged = [url, html, answers].some((part) => part !== undefined);
      return makeScore({ outcome: isJudged ? outcome : 0 });
    },
    { range: [0, 1] },
  );
}

function answerScore<Data, State>(
  episode: ScoredEpisode<Data, State>,
  answers: ReferenceAnswers,
  { judge, intent, note }: WebArenaOptions<Data, State>,
): Promise<number> {
  return stringMatch(episode.answer, answers, {
    ...defined({ judge: judge === undefined ? undefined : (question: FuzzyQuestion) => judge(question, episode) }),
    intent: intent?.(episode.task) ?? "",
    note: note?.(episode.task) ?? "",
  });
}
