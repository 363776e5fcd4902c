import { mean, sum } from "../statistics.ts";
import { type Interval, wilson } from "./interval.ts";
import { passAtK, passHatK } from "./pass-rates.ts";

// P: tasks, G: attempts at one of them, c of them right. ρ: correlation of attempts at one task.

/** An unbiased estimate for one task: `passAtK` or `passHatK`. */
type Rate = (n: number, c: number, k: number) => number;

/**
 * 95 % for a share of successes over tasks, each tried once or several times: within 0 and 1. Wilson's with a design effect, as
 * attempts at one task are alike. How much alike is not known better than attempts show it, so their correlation is averaged over
 * what a beta-binomial model makes likely of it; where all attempts failed, or none, tasks are counted.
 *
 * Covers 93 to 97.6 % where ten independent successes, and ten failures, are to be expected; with fewer, 92 to 98.5 %, as the share then
 * takes few values and little shows how much alike attempts are.
 */
export function successInterval(success_P_G: readonly (readonly number[])[]): Interval {
  return rateInterval(success_P_G, 1, passAtK);
}

/** 95 % for pass@k over tasks that were each tried at least k times; see `successInterval`. */
export function passAtKInterval(success_P_G: readonly (readonly number[])[], k: number): Interval {
  return rateInterval(success_P_G, k, passAtK);
}

/** 95 % for pass^k over tasks that were each tried at least k times; see `successInterval`. */
export function passHatKInterval(success_P_G: readonly (readonly number[])[], k: number): Interval {
  return rateInterval(success_P_G, k, passHatK);
}

function rateInterval(success_P_G: readonly (readonly number[])[], k: number, rate: Rate): Interval {
  const tasks = success_P_G.map((group) => ({ n: group.length, c: sum(group) }));
  if (tasks.length === 0) return wilson(0, 0);
  const values_P = tasks.map(({ n, c }) => rate(n, c, k));
  const share = mean(values_P);
  const independent = tasks.length / varianceRatio(tasks, values_P, (n, c) => rate(n, c, k));
  return { ...wilson(share * independent, independent), mean: share };
}

/** Of a task of which `c` of `n` attempts were right. */
type ValueAt = (n: number, c: number) => number;

interface Tried {
  readonly n: number;
  readonly c: number;
}

/**
 * The variance of a task's value over that of a single try with the same mean, at most 1: the inverse of how many independent tries a
 * task is worth. The greater of what a beta-binomial model expects, and of what is seen.
 */
function varianceRatio(tasks: readonly Tried[], values_P: readonly number[], valueAt: ValueAt): number {
  const share = mean(values_P);
  const single = share * (1 - share);
  // nothing is known about attempts that are all alike
  if (single <= 0 || tasks.length < 2 || tasks.every(({ n }) => n === 1)) return 1;
  const seen = sum(values_P.map((value) => (value - share) ** 2)) / (tasks.length - 1) / single;
  return Math.min(1, Math.max(seen, expectedRatio(tasks, valueAt)));
}

const steps = 40;
/** Denser near 0, where a little more correlation matters most. */
const correlations = Array.from({ length: steps }, (_, i) => ((i + 0.5) / steps) ** 2);
/** Of equal weight to every correlation. */
const widths = correlations.map((_, i) => ((i + 1) / steps) ** 2 - (i / steps) ** 2);

/** The mean over correlations, by how likely they make what was seen. */
function expectedRatio(tasks: readonly Tried[], valueAt: ValueAt): number {
  const attempts = sum(tasks.map(({ n }) => n));
  const p = (sum(tasks.map(({ c }) => c)) + 0.5) / (attempts + 1);
  const sizes = [...Map.groupBy(tasks, ({ n }) => n)].map(([n, members]) => ({
    n,
    count: members.length,
    histogram: countsOf(members, n),
  }));
  const models = correlations.map((correlation) => {
    let [logLikelihood, ratio] = [0, 0];
    for (const { n, count, histogram } of sizes) {
      const logs_C = logProbabilities(n, p, correlation);
      for (const [c, times] of histogram.entries()) if (times > 0) logLikelihood += times * logs_C[c];
      ratio += (count / tasks.length) * ratioOf(logs_C, (c) => valueAt(n, c));
    }
    return { logLikelihood, ratio };
  });
  const best = Math.max(...models.map(({ logLikelihood }) => logLikelihood));
  const weights = models.map(({ logLikelihood }, i) => widths[i] * Math.exp(logLikelihood - best));
  return sum(models.map(({ ratio }, i) => ratio * weights[i])) / sum(weights);
}

function countsOf(members: readonly Tried[], n: number): number[] {
  const histogram = new Array<number>(n + 1).fill(0);
  for (const { c } of members) histogram[c]++;
  return histogram;
}

/** log P(c of n) for c = 0 to n, where successes have the mean `p` and attempts at a task the correlation `correlation`. */
function logProbabilities(n: number, p: number, correlation: number): number[] {
  const rising = (share: number, times: number) => {
    let log = 0;
    for (let j = 0; j < times; j++) log += Math.log(share * (1 - correlation) + j * correlation);
    return log;
  };
  const [right_C, wrong_C] = [p, 1 - p].map((share) =>
    Array.from({ length: n + 1 }, (_, times) => rising(share, times)),
  );
  const all = rising(1, n);
  let logChoose = 0;
  return Array.from({ length: n + 1 }, (_, c) => {
    if (c > 0) logChoose += Math.log((n - c + 1) / c);
    return logChoose + right_C[c] + wrong_C[n - c] - all;
  });
}

function ratioOf(logs_C: readonly number[], valueAt: (c: number) => number): number {
  let [first, second] = [0, 0];
  for (const [c, log] of logs_C.entries()) {
    const [probability, value] = [Math.exp(log), valueAt(c)];
    first += probability * value;
    second += probability * value * value;
  }
  const single = first * (1 - first);
  return single <= 0 ? 1 : (second - first * first) / single;
}
