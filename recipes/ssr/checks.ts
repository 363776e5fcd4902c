import { runLines } from "../lines.ts";
import { applyEdits, type Edit, type FileName, fileNames, readEdits, type Sources } from "./language.ts";

/** A test file for each function, with a test for each input. */
export const inputs = [1, 4, 9] as const;

export interface TestId {
  readonly file: FileName;
  readonly input: number;
}

/** What an injector hands in: `f1>a=a-3 12 1` is a bug, the test files that are run, and those whose failing tests are taken out. */
export interface Artifact {
  readonly bug: readonly Edit[];
  readonly run: readonly number[];
  readonly weakened: readonly number[];
}

export type Check =
  | "parser is valid"
  | "test files exist"
  | "enough tests pass"
  | "outcomes are the same again"
  | "enough files are changed"
  | "enough tests fail"
  | "weakening hides failures"
  | "every change matters";

/** A bug that can be given to a solver. */
export interface ConsistentBug {
  readonly buggy: Sources;
  /** Tests that fail with it and that weakening takes out: what the solver is told, and nothing else. */
  readonly hidden: readonly TestId[];
}

export const least = { passing: 4, failing: 1, files: 1 } as const;
/** Every run is made with each of these. */
const seeds = [1, 2] as const;

export function readArtifact(text: string): Artifact | undefined {
  const [edits = "", run = "", weakened = "", ...more] = text.split(" ");
  const bug = readEdits(edits);
  const isList = (digits: string) => /^\d{1,4}$/.test(digits) && new Set(digits).size === digits.length;
  if (bug === undefined || more.length > 0 || !isList(run) || !isList(weakened)) return undefined;
  return { bug, run: [...run].map(Number), weakened: [...weakened].map(Number) };
}

/** Which tests fail: those that do not give what the original gives. Undefined where that depends on chance. */
export function failingTests(original: Sources, now: Sources, files: readonly FileName[]): TestId[] | undefined {
  const failing: TestId[] = [];
  for (const file of files) {
    for (const input of inputs) {
      const wanted = runLines(original[file], input, seeds[0]);
      const [got, again] = seeds.map((seed) => runLines(now[file], input, seed));
      if (got !== again) return undefined;
      if (got === undefined || got !== wanted) failing.push({ file, input });
    }
  }
  return failing;
}

/**
 * The seven consistency checks of self-play SWE-RL, and an eighth against tests that fail by chance: they are run again with another seed. A name
 * where one is not passed.
 */
export function check(original: Sources, text: string): ConsistentBug | Check {
  const artifact = readArtifact(text);
  if (artifact === undefined) return "parser is valid";
  const { bug, run, weakened } = artifact;
  const exists = (number: number) => fileNames[number - 1] !== undefined;
  if (!run.every(exists) || !weakened.every((number) => run.includes(number))) return "test files exist";
  const files = run.map((number) => fileNames[number - 1]!);
  const before = failingTests(original, original, files);
  if (before === undefined) return "outcomes are the same again";
  if (files.length * inputs.length - before.length < least.passing) return "enough tests pass";
  const buggy = applyEdits(original, bug);
  const changed = fileNames.filter((file) => buggy[file].some((line, i) => line !== original[file][i]));
  if (changed.length < least.files) return "enough files are changed";
  const failing = failingTests(original, buggy, files);
  if (failing === undefined) return "outcomes are the same again";
  if (failing.length < least.failing) return "enough tests fail";
  const hidden = failing.filter(({ file }) => weakened.includes(fileNames.indexOf(file) + 1));
  if (hidden.length === 0) return "weakening hides failures";
  if (!changed.every((file) => matters(original, buggy, { file, files, failing }))) return "every change matters";
  return { buggy, hidden };
}

/** Inverse mutation testing: with this file alone as it was, a test that failed passes. */
function matters(
  original: Sources,
  buggy: Sources,
  { file, files, failing }: { file: FileName; files: readonly FileName[]; failing: readonly TestId[] },
): boolean {
  const reverted = failingTests(original, { ...buggy, [file]: original[file] }, files);
  return reverted !== undefined && reverted.length < failing.length;
}

const alpha = 0.8;

/** What an injector gets for a bug that passes the checks and that a share of solvers mend. */
export function injectorReward(solved: number): number {
  return solved === 0 || solved === 1 ? -alpha : 1 - (1 + alpha) * solved;
}
