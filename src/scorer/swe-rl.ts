import { countOf, splitLines, strip } from "./python-strings.ts";
import { textRatio } from "./sequence-matcher.ts";
import { unifiedDiff } from "./unified-diff.ts";

type Files = Readonly<Record<string, string>>;

export interface SweRlTask {
  /** Path to text, before the change. */
  files: Files;
  /** Path to text after the gold change, for the files it touches. */
  goldFiles: Files;
}

export interface SweRlScore {
  /** −1 for a broken format, else the mean similarity of the patches in [0, 1]. */
  reward: number;
  /** What broke the format. */
  error: string | null;
  /** Path to similarity, for every file that either side changes. */
  similarities: Record<string, number>;
}

const editBlock = /```[^\n]*?\n### ([^\n]*)\n<<<<<<< SEARCH\n([\s\S]*?)\n=======\n([\s\S]*?)\n>>>>>>> REPLACE\n```/g;

/**
 * SWE-RL (arXiv 2502.18449): how near the model's patch is to the gold one. No test is run, so on a small file a wrong fix
 * scores almost as high as the right one.
 */
export function sweRlScore(output: string, { files, goldFiles }: SweRlTask): SweRlScore {
  const edited = applyEdits(output, files);
  if (typeof edited === "string") return { reward: -1, error: edited, similarities: {} };
  return patchSimilarity(files, goldFiles, edited);
}

/** The same for new texts however they were made: the mean over files of the likeness of the two unified diffs. */
export function patchSimilarity(files: Files, goldFiles: Files, newFiles: Files): SweRlScore {
  const gold = patches(files, goldFiles);
  const predicted = patches(files, newFiles);
  const similarities: Record<string, number> = {};
  let sum = 0;
  const paths = new Set([...gold.keys(), ...predicted.keys()]);
  for (const path of paths) {
    const [ours, theirs] = [predicted.get(path), gold.get(path)];
    const similarity = ours === undefined || theirs === undefined ? 0 : textRatio(ours, theirs);
    similarities[path] = similarity;
    sum += similarity;
  }
  // where neither side changes anything, they agree
  return { reward: paths.size === 0 ? 1 : sum / paths.size, error: null, similarities };
}

function patches(files: Files, newFiles: Files): Map<string, string> {
  const found = new Map<string, string>();
  for (const [path, text] of Object.entries(newFiles)) {
    // without the two lines that name the files
    const diff = unifiedDiff(splitLines(textOf(files, path)), splitLines(text), { lineEnd: "" }).slice(2);
    if (diff.length > 0) found.set(path, diff.join("\n"));
  }
  return found;
}

/** The new texts of the files that the output edits, or what is wrong with its format. */
function applyEdits(output: string, files: Files): Record<string, string> | string {
  for (const tag of ["<think>", "</think>", "<solution>", "</solution>"]) {
    if (countOf(output, tag) !== 1) return `${tag} does not occur exactly once`;
  }
  const between = (name: string) => strip(output.split(`<${name}>`)[1].split(`</${name}>`)[0]);
  if (between("think") === "") return "the thought is empty";
  const edited = new Map<string, string>();
  for (const [, path, search, replace] of between("solution").matchAll(editBlock)) {
    if (search === replace) return "search and replace are identical";
    // the line ends before both keep the indentation exact
    const text = edited.get(path) ?? `\n${textOf(files, path)}`;
    if (!text.includes(`\n${search}`)) return `search is not found in ${path}`;
    edited.set(
      path,
      text.replaceAll(`\n${search}`, () => `\n${replace}`),
    );
  }
  if (edited.size === 0) return "no search and replace block";
  return Object.fromEntries([...edited].map(([path, text]) => [path, text.slice(1)]));
}

function textOf(files: Files, path: string): string {
  return Object.hasOwn(files, path) ? files[path] : "";
}
