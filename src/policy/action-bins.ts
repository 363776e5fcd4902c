import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseOtherValue, refuseUnknownOptions } from "../known-options.ts";
import type { Tokenizer } from "./tokenizer.ts";
import { trainBpe } from "./train-bpe.ts";

export interface ActionBinsOptions {
  /** Of each dimension, at most 256. */
  bins: number;
  /** What the bins divide: from the 1st to the 99th percentile of the demonstrated actions, or from the least to the greatest. */
  range: "quantiles" | "extremes";
}

const knownOptions: KnownOptions<ActionBinsOptions> = { bins: true, range: true };

/** Numbers as text, one character for each dimension: what a policy says to move something that is continuous. */
export interface ActionBins {
  readonly bins: number;
  readonly dimensions: number;
  /** Where the bins of each dimension begin and end. */
  readonly bounds: readonly (readonly [low: number, high: number])[];
  /** Values beyond the bounds are in the outermost bins. */
  write(action: readonly number[]): string;
  /** The middles of the bins. Undefined for what is no action: another count of characters, or other ones. */
  read(text: string): number[] | undefined;
}

const mostBins = 256;
/** Letters that no other text of a world is likely to have; OpenVLA overwrites the tokens that its language model uses least. */
const firstLetter = 0x100;

/**
 * Actions as tokens, as in OpenVLA (arXiv 2406.09246): each dimension of a continuous action is divided into bins of the same width. By default these lie
 * between the 1st and the 99th percentile of demonstrated actions, so that outliers do not make them wide.
 *
 *     const bins = actionBins(demonstrated);                    // one list of numbers for each action
 *     const text = bins.write([0.12, -0.5]);                    // two characters
 *     bins.read(text);                                          // [0.1211, -0.4976], say: the middles of the bins
 */
export function actionBins(
  demonstrated: readonly (readonly number[])[],
  options: Partial<ActionBinsOptions> = {},
): ActionBins {
  refuseUnknownOptions("actionBins", options, knownOptions);
  const { bins = mostBins, range = "quantiles" } = options;
  refuseOtherValue("actionBins: range", range, ["quantiles", "extremes"]);
  if (!(Number.isInteger(bins) && bins >= 2 && bins <= mostBins)) {
    throw new LudusError("bad-option", { got: `bins = ${bins}`, expected: `a whole number, 2 to ${mostBins}` });
  }
  const [low, high] = range === "quantiles" ? [0.01, 0.99] : [0, 1];
  const dimensions = demonstrated[0]?.length ?? 0;
  if (
    dimensions === 0 ||
    demonstrated.some((action) => action.length !== dimensions || !action.every(Number.isFinite))
  ) {
    throw new LudusError("bad-option", {
      got: `${demonstrated.length} actions, the first of ${dimensions} numbers`,
      expected: "at least one action, all of the same count of finite numbers",
    });
  }
  const bounds = Array.from({ length: dimensions }, (_, dimension) => {
    const sorted = demonstrated.map((action) => action[dimension]).sort((a, b) => a - b);
    return [quantile(sorted, low), quantile(sorted, high)] as const;
  });
  const flat = bounds.findIndex(([from, to]) => from === to);
  if (flat !== -1) {
    throw new LudusError("bad-option", {
      got: `actions whose dimension ${flat} is ${bounds[flat][0]} from end to end`,
      expected: "two values or more in each dimension",
    });
  }
  return {
    bins,
    dimensions,
    bounds,
    write: (action) => {
      if (action.length !== dimensions || action.some(Number.isNaN)) {
        throw new LudusError("bad-action", { got: `[${action}]`, expected: `${dimensions} numbers` });
      }
      const letters = action.map((value, dimension) => firstLetter + binOf(value, bounds[dimension], bins));
      return String.fromCodePoint(...letters);
    },
    read(text) {
      const read = Array.from(text, (letter) => letter.codePointAt(0)! - firstLetter);
      if (read.length !== dimensions || read.some((bin) => bin < 0 || bin >= bins)) return undefined;
      return read.map((bin, dimension) => {
        const [from, to] = bounds[dimension];
        return from + ((bin + 0.5) / bins) * (to - from);
      });
    },
  };
}

function binOf(value: number, [from, to]: readonly [number, number], bins: number): number {
  return Math.max(0, Math.min(bins - 1, Math.floor(((value - from) / (to - from)) * bins)));
}

/** Between the two nearest ranks, as numpy's by default. */
function quantile(sorted: readonly number[], share: number): number {
  const rank = share * (sorted.length - 1);
  const below = Math.floor(rank);
  const next = sorted[Math.min(below + 1, sorted.length - 1)];
  return sorted[below] + (rank - below) * (next - sorted[below]);
}

/** A tokenizer of bytes with one more token for each character that `actionBins` writes. */
export function actionTokenizer(): Tokenizer {
  const texts = Array.from({ length: mostBins }, (_, bin) => String.fromCodePoint(firstLetter + bin));
  // a pair that occurs once is not merged
  return trainBpe({ texts: [...texts, ...texts], vocabularySize: 1024 });
}
