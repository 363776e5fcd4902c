import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import type { World } from "../rollout/world.ts";
import { copiedShare, rowsOf, wordsOf } from "../scorer/copied-words.ts";

export interface ContaminationOptions {
  /** Words in a row that count as copied. */
  n: number;
  /** A text is dirty when this share of its words is in such a row, clean below the other. */
  dirty: number;
  clean: number;
}

const knownContaminationOptions: KnownOptions<ContaminationOptions> = { n: true, dirty: true, clean: true };

export interface ContaminationReport {
  /** For each test text the share of its words that stand in training texts as part of `n` or more in a row. */
  readonly shares: readonly number[];
  readonly mean: number;
  /** Shares of test texts; what is neither is in between. */
  readonly dirty: number;
  readonly clean: number;
  /** The dirtiest first. */
  readonly worst: readonly { readonly index: number; readonly share: number; readonly text: string }[];
}

const defaults: ContaminationOptions = { n: 10, dirty: 0.8, clean: 0.2 };
const shown = 5;

/**
 * Whether test texts can be found in training texts (AgentTuning's check with 10-grams). Case and punctuation do not count. A
 * text of fewer than `n` words is copied when all of it stands in a training text.
 */
export function contamination(
  train: Iterable<string>,
  test: readonly string[],
  options: Partial<ContaminationOptions> = {},
): ContaminationReport {
  refuseUnknownOptions("contamination", options, knownContaminationOptions);
  const { n, dirty, clean } = { ...defaults, ...options };
  if (!(Number.isInteger(n) && n >= 1)) {
    throw new LudusError("bad-eval", { got: `n = ${n}`, expected: "a whole number of at least 1" });
  }
  const texts = test.map(wordsOf);
  // short texts are rows of words of their own length
  const lengths = new Set(texts.map(({ length }) => Math.min(n, length)).filter((length) => length > 0));
  // rows of the test texts, of which there are far fewer than of training texts
  const wanted = new Set(texts.flatMap((words) => rowsOf(words, Math.min(n, words.length))));
  const seen = new Set<string>();
  for (const text of train) {
    const words = wordsOf(text);
    for (const length of lengths) for (const row of rowsOf(words, length)) if (wanted.has(row)) seen.add(row);
  }
  const shares = texts.map((words) => copiedShare(words, Math.min(n, words.length), seen));
  const part = (isSo: (share: number) => boolean) => shares.filter(isSo).length / Math.max(1, shares.length);
  const ranked = shares.map((share, index) => ({ index, share, text: test[index] })).filter(({ share }) => share > 0);
  return {
    shares,
    mean: shares.reduce((a, b) => a + b, 0) / Math.max(1, shares.length),
    dirty: part((share) => share >= dirty),
    clean: part((share) => share < clean),
    worst: ranked.sort((a, b) => b.share - a.share || a.index - b.index).slice(0, shown),
  };
}

/** What the first role reads at the start of some tasks of a split, system prompts left out: the texts to check. */
export async function openingTexts<Data>(world: World<Data>, split: string, tasks: number): Promise<string[]> {
  const texts: string[] = [];
  for (let index = 0; index < Math.min(tasks, world.tasks.size(split)); index++) {
    const opening = await world.opening?.(await world.tasks.at(split, index));
    const read = (opening?.messages ?? []).filter(({ role }) => role !== "system");
    texts.push(read.map(({ content }) => content).join("\n"));
  }
  return texts;
}
