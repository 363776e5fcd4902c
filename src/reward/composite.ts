import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { createComposite } from "../scorer/composite.ts";
import { factsOf, makeReward, rangeOf } from "./make-reward.ts";
import type { Reward } from "./reward.ts";

export interface CompositeRewardOptions<Part extends string = string> {
  /** The part that says whether the task was solved; "outcome" by default. */
  outcome: Part;
}

const knownCompositeRewardOptions: KnownOptions<CompositeRewardOptions> = { outcome: true };

type Rewards<Data, State> = Readonly<Record<string, Reward<Data, State>>>;

/**
 * The sum of named rewards, each of them one part:
 *
 *     composite({ outcome: exactMatch((task: Question) => task.answer), format: weighted(0.2, format(["think", "answer"])) })
 *
 * `warnings` tells when the outcome makes up less than half of the attainable reward. A total outside its reward's range is an
 * error: declare the range of your own functions with `makeReward`.
 */
export function composite<Data, State = unknown>(
  rewards: Rewards<Data, State> & { readonly outcome: Reward<Data, State> },
): Reward<Data, State>;
export function composite<Data, State, Part extends string>(
  rewards: { readonly [Name in Part]: Reward<Data, State> },
  options: CompositeRewardOptions<NoInfer<Part>>,
): Reward<Data, State>;
// never matches on its own: it makes the compiler name the parts where `outcome` is misspelt
export function composite<All extends Rewards<never, never>>(
  rewards: All,
  options: CompositeRewardOptions<keyof All & string>,
): Reward<never, never>;
export function composite<Data, State>(
  rewards: Rewards<Data, State>,
  options: Partial<CompositeRewardOptions> = {},
): Reward<Data, State> {
  refuseUnknownOptions("composite", options, knownCompositeRewardOptions);
  const { outcome = "outcome" } = options;
  const entries = Object.entries(rewards);
  const sum = createComposite({
    weights: Object.fromEntries(entries.map(([name]) => [name, 1])),
    ranges: Object.fromEntries(entries.map(([name, reward]) => [name, rangeOf(reward)])),
    outcome,
  });
  const bounds = entries.map(([, reward]) => rangeOf(reward));
  const inner = factsOf(...Object.values(rewards));
  const bound = (end: 0 | 1) => bounds.reduce((all, range) => all + range[end], 0);
  return makeReward(
    async (episode) => {
      const scores = await Promise.all(entries.map(async ([name, reward]) => [name, await reward(episode)] as const));
      const { total, parts } = sum.score(Object.fromEntries(scores.map(([name, score]) => [name, score.total])));
      return { total, parts, success: scores.some(([name, { success }]) => name === outcome && success) };
    },
    { range: [bound(0), bound(1)], sandboxes: inner.sandboxes, warnings: [...sum.warnings, ...inner.warnings] },
  );
}
