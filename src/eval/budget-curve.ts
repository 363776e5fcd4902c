import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import type { Policy } from "../rollout/rollout.ts";
import type { World } from "../rollout/world.ts";
import { type EvalOptions, type EvalReport, evaluate, knownEvalOptions } from "./evaluate.ts";

/** Success as a function of how many turns an episode may take: the same tasks with each limit (WebAgent-R1). */
export async function budgetCurve<Data>(
  env: World<Data>,
  policy: Policy,
  turns: readonly number[],
  options: Partial<EvalOptions> = {},
): Promise<{ readonly turns: number; readonly report: EvalReport }[]> {
  refuseUnknownOptions("budgetCurve", options, knownEvalOptions);
  const curve: { turns: number; report: EvalReport }[] = [];
  for (const limit of turns) {
    const limits = { ...options.limits, turns: limit };
    curve.push({ turns: limit, report: await evaluate(env, policy, { ...options, limits }) });
  }
  return curve;
}

type SplitsOptions = Partial<Omit<EvalOptions, "split">> & { splits?: readonly string[] };

const { split: _split, ...othersKnown } = knownEvalOptions;
const knownSplitsOptions: KnownOptions<SplitsOptions> = { ...othersKnown, splits: true };

/** One report for each split: by default all but the one that is trained on, most of which are out of distribution. */
export async function evaluateSplits<Data>(
  env: World<Data>,
  policy: Policy,
  options: SplitsOptions = {},
): Promise<Record<string, EvalReport>> {
  refuseUnknownOptions("evaluateSplits", options, knownSplitsOptions);
  const { splits = env.tasks.splits.filter((split) => split !== "train"), ...rest } = options;
  const reports: Record<string, EvalReport> = {};
  for (const split of splits) reports[split] = await evaluate(env, policy, { ...rest, split });
  return reports;
}
