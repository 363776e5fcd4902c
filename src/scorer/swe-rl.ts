import { bounds } from "../bounds.ts";
import { LudusError } from "../errors.ts";
import { countOf, splitLines, strip } from "./python-strings.ts";
import { Budget, textRatio } from "./sequence-matcher.ts";
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
  /** What broke the format, or why the patches were not compared: reward 0, for a patch beyond `bounds.comparisons`. */
  error: string | null;
  /** Path to similarity, for every file that either side changes. */
  similarities: Record<string, number>;
}

/**
 * SWE-RL (arXiv 2502.18449): how near the model's patch is to the gold one. No test is run, so on a small file a wrong fix
 * scores almost as high as the right one.
 */
export function sweRlScore(output: string, { files, goldFiles }: SweRlTask): SweRlScore {
  return withinBudget((budget) => {
    const edited = applyEdits(output, files, budget);
    if (typeof edited === "string") return { reward: -1, error: edited, similarities: {} };
    return comparePatches(files, goldFiles, edited, budget);
  });
}

/** The same for new texts however they were made: the mean over files of the likeness of the two unified diffs. */
export function patchSimilarity(files: Files, goldFiles: Files, newFiles: Files): SweRlScore {
  return withinBudget((budget) => comparePatches(files, goldFiles, newFiles, budget));
}

function withinBudget(score: (budget: Budget) => SweRlScore): SweRlScore {
  try {
    return score(new Budget());
  } catch (error) {
    if (!(error instanceof LudusError) || error.code !== "too-much-to-compare") throw error;
    return { reward: 0, error: "the patches take too long to compare", similarities: {} };
  }
}

function comparePatches(files: Files, goldFiles: Files, newFiles: Files, budget: Budget): SweRlScore {
  const gold = patches(files, goldFiles, budget);
  const predicted = patches(files, newFiles, budget);
  const similarities: Record<string, number> = {};
  let sum = 0;
  const paths = new Set([...gold.keys(), ...predicted.keys()]);
  for (const path of paths) {
    const [ours, theirs] = [predicted.get(path), gold.get(path)];
    const similarity = ours === undefined || theirs === undefined ? 0 : textRatio(ours, theirs, budget);
    similarities[path] = similarity;
    sum += similarity;
  }
  // where neither side changes anything, they agree
  return { reward: paths.size === 0 ? 1 : sum / paths.size, error: null, similarities };
}

function patches(files: Files, newFiles: Files, budget: Budget): Map<string, string> {
  const found = new Map<string, string>();
  for (const [path, text] of Object.entries(newFiles)) {
    // without the two lines that name the files
    const [before, after] = [splitLines(textOf(files, path)), splitLines(text)];
    const diff = unifiedDiff(before, after, { lineEnd: "", budget }).slice(2);
    if (diff.length > 0) found.set(path, diff.join("\n"));
  }
  return found;
}

/** The new texts of the files that the output edits, or what is wrong with its format. */
function applyEdits(output: string, files: Files, budget: Budget): Record<string, string> | string {
  for (const tag of ["<think>", "</think>", "<solution>", "</solution>"]) {
    if (countOf(output, tag) !== 1) return `${tag} does not occur exactly once`;
  }
  const between = (name: string) => strip(output.split(`<${name}>`)[1].split(`</${name}>`)[0]);
  if (between("think") === "") return "the thought is empty";
  const edited = new Map<string, string>();
  let length = 0;
  for (const { path, search, replace } of editBlocks(between("solution"))) {
    if (search === replace) return "search and replace are identical";
    // the line ends before both keep the indentation exact
    const text = edited.get(path) ?? `\n${textOf(files, path)}`;
    const parts = text.split(`\n${search}`);
    // a part costs about as much as ten characters
    budget.spend(text.length + 10 * parts.length);
    const found = parts.length - 1;
    if (found === 0) return `search is not found in ${path}`;
    length += found * (replace.length - search.length) + (edited.has(path) ? 0 : text.length);
    if (length > bounds.editedFiles) return `the edits make files of more than ${bounds.editedFiles} characters`;
    edited.set(path, parts.join(`\n${replace}`));
  }
  if (edited.size === 0) return "no search and replace block";
  return Object.fromEntries([...edited].map(([path, text]) => [path, text.slice(1)]));
}

interface EditBlock {
  path: string;
  search: string;
  replace: string;
}

const [marker, separator, end] = ["\n<<<<<<< SEARCH\n", "\n=======\n", "\n>>>>>>> REPLACE\n```"];

/**
 * The blocks that the released expression finds,
 *
 *     ```.*?\n### (.*)\n<<<<<<< SEARCH\n([\s\S]*?)\n=======\n([\s\S]*?)\n>>>>>>> REPLACE\n```
 *
 * in one pass: the expression takes cubic time where blocks are not closed.
 */
export function editBlocks(text: string): EditBlock[] {
  const blocks: EditBlock[] = [];
  let from = 0;
  for (let at = text.indexOf(marker); at >= 0; at = text.indexOf(marker, at + 1)) {
    const path = pathBefore(text, at, from);
    if (path === undefined) continue;
    const searchStart = at + marker.length;
    const searchEnd = text.indexOf(separator, searchStart);
    if (searchEnd < 0) break;
    const replaceStart = searchEnd + separator.length;
    const replaceEnd = text.indexOf(end, replaceStart);
    if (replaceEnd < 0) break;
    const [search, replace] = [text.slice(searchStart, searchEnd), text.slice(replaceStart, replaceEnd)];
    blocks.push({ path, search, replace });
    from = replaceEnd + end.length;
    at = Math.max(at, from - 1);
  }
  return blocks;
}

/** What `### ` names on the line that ends at `lineEnd`, where the line before it has a fence that begins at `from` or later. */
function pathBefore(text: string, lineEnd: number, from: number): string | undefined {
  const lineStart = text.lastIndexOf("\n", lineEnd - 1) + 1;
  if (lineStart === 0 || !text.startsWith("### ", lineStart)) return undefined;
  const fenceStart = Math.max(from, text.lastIndexOf("\n", lineStart - 2) + 1);
  return text.slice(fenceStart, lineStart - 1).includes("```") ? text.slice(lineStart + 4, lineEnd) : undefined;
}

function textOf(files: Files, path: string): string {
  return Object.hasOwn(files, path) ? files[path] : "";
}
