import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import type { PlayedRollout } from "../rollout.ts";
import { checkBudget, checkCounts, type SearchBudget, Spending } from "./budget.ts";
import { majorityAnswer } from "./majority-answer.ts";
import {
  type Begin,
  finalValue,
  playOn,
  renamed,
  type Search,
  type SearchValue,
  scoredTotal,
  spoiled,
} from "./search.ts";

export interface BestAttemptOptions {
  /** How many attempts; fewer where the budget does not last. */
  attempts: number;
  /** What they are compared by; the environment's score by default. */
  value: SearchValue;
  budget: SearchBudget;
}

const knownBestAttemptOptions: KnownOptions<BestAttemptOptions> = { attempts: true, value: true, budget: true };

/** Best of n: whole attempts, one after the other, of which the most valuable counts, the first of equals. */
export function bestAttempt(options: Partial<BestAttemptOptions> = {}): Search {
  refuseUnknownOptions("bestAttempt", options, knownBestAttemptOptions);
  const { attempts, value, budget } = { attempts: 8, value: scoredTotal, budget: {}, ...options };
  checkCounts("bestAttempt", { attempts });
  checkBudget("bestAttempt", budget);
  return {
    name: "best-attempt",
    async play(begin, own) {
      const tried = await tryOften(begin, new Spending(budget, own), { attempts, value });
      let best = tried[0];
      for (const each of tried) if ((each.value ?? unknown) > (best.value ?? unknown)) best = each;
      return renamed(best.played, own.id);
    },
  };
}

export interface SelfConsistencyOptions extends Omit<BestAttemptOptions, "value"> {
  /** What an attempt answered; what was said last by default. Attempts without an answer do not vote. */
  answerOf: (played: { readonly lastWords: string | undefined }) => string | undefined;
}

const knownSelfConsistencyOptions: KnownOptions<SelfConsistencyOptions> = {
  attempts: true,
  budget: true,
  answerOf: true,
};

/** The answer that most attempts gave: the first attempt that gave it counts. No score is looked at. */
export function selfConsistency(options: Partial<SelfConsistencyOptions> = {}): Search {
  refuseUnknownOptions("selfConsistency", options, knownSelfConsistencyOptions);
  const { attempts, budget, answerOf } = {
    attempts: 8,
    budget: {},
    answerOf: ({ lastWords }: { readonly lastWords: string | undefined }) => lastWords,
    ...options,
  };
  checkCounts("selfConsistency", { attempts });
  checkBudget("selfConsistency", budget);
  return {
    name: "self-consistency",
    async play(begin, own) {
      const tried = await tryOften(begin, new Spending(budget, own), { attempts, value: () => 0 });
      const answers = await Promise.all(
        tried.map(async ({ played, value }) => {
          const { trajectories } = await played.score();
          const lastWords = trajectories[0]?.turns.at(-1)?.text.trim();
          return value === undefined ? undefined : answerOf({ lastWords });
        }),
      );
      const winner = majorityAnswer(answers.filter((answer) => answer !== undefined));
      const index = winner === undefined ? 0 : answers.indexOf(winner);
      return renamed(tried[index].played, own.id);
    },
  };
}

const unknown = Number.NEGATIVE_INFINITY;

interface Tried<Data> {
  readonly played: PlayedRollout<Data>;
  /** Undefined where it ended through no fault of the policy. */
  readonly value: number | undefined;
}

async function tryOften<Data>(
  begin: Begin<Data>,
  spending: Spending,
  { attempts, value }: { readonly attempts: number; readonly value: SearchValue },
): Promise<Tried<Data>[]> {
  const tried: Tried<Data>[] = [];
  while (tried.length < attempts && (tried.length === 0 || !spending.isSpent)) {
    const attempt = await begin({ id: spending.nextId(), seed: spending.next() });
    while (attempt.stop === undefined) await playOn(attempt, spending, spending.spend);
    const played = attempt.played();
    try {
      tried.push({ played, value: await finalValue(played, value) });
    } catch (error) {
      tried.push({ played: spoiled(played, error), value: undefined });
    }
  }
  return tried;
}
