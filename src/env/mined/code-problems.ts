import { z } from "zod";
import { LudusError } from "../../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import { copiedShare, rowsOf, wordsOf } from "../../scorer/copied-words.ts";
import { defaultSandbox } from "../../tool/sandbox/default-sandbox.ts";
import type { Sandbox } from "../../tool/sandbox/sandbox.ts";
import { checkWholeOptions } from "../environments/check-options.ts";
import { pythonTestRunner, runTestFiles } from "./test-runner.ts";

/** A problem with a solution and tests, in the form of KodCode: tests import from `solution`. */
export interface CodeProblem {
  readonly id: string;
  readonly question: string;
  readonly solution: string;
  readonly test: string;
}

export interface CodeProblemsOptions {
  /** Texts that problems must not be taken from, such as those of a test set. */
  against: readonly string[];
  /** Words in a row that count as taken. */
  n: number;
  /** A problem is left out where this share of its words is in such a row. */
  taken: number;
  /** Two questions are the same where they share this part of their rows of three words (Jaccard). */
  same: number;
  /** Tests that a problem has at least. */
  minTests: number;
  /** One run of a problem's tests; three runs are made. */
  timeoutMs: number;
  memoryMb: number;
  /** Where solutions run; `bubblewrapSandbox()` by default. */
  sandbox?: Sandbox;
}

const knownCodeProblemsOptions: KnownOptions<CodeProblemsOptions> = {
  against: true,
  n: true,
  taken: true,
  same: true,
  minTests: true,
  timeoutMs: true,
  memoryMb: true,
  sandbox: true,
};

const defaults: CodeProblemsOptions = {
  against: [],
  n: 10,
  taken: 0.2,
  same: 0.8,
  minTests: 1,
  timeoutMs: 20_000,
  memoryMb: 512,
};

export type ProblemLeftOut =
  | "duplicate"
  | "contaminated"
  | "too-few-tests"
  /** The solution does not pass all tests, each time. */
  | "fails"
  /** All tests pass where every function gives None. */
  | "tests-nothing";

export interface CheckedProblems {
  readonly problems: readonly CodeProblem[];
  readonly leftOut: readonly { readonly id: string; readonly why: ProblemLeftOut; readonly detail?: string }[];
}

/** A module of which every name is a function that gives None. */
const emptySolution = "def __getattr__(name):\n    return lambda *args, **named: None\n";

/**
 * Keeps the problems that hold: not the same as an earlier one, not taken from texts of `against`, with a solution that passes all tests twice, and
 * tests that an empty solution does not pass. The cheap checks come first.
 *
 *     const { problems, leftOut } = await checkProblems(proposed, { against: testQuestions });
 */
export async function checkProblems(
  proposed: Iterable<CodeProblem> | AsyncIterable<CodeProblem>,
  options: Partial<CodeProblemsOptions> = {},
  signal?: AbortSignal,
): Promise<CheckedProblems> {
  refuseUnknownOptions("checkProblems", options, knownCodeProblemsOptions);
  const chosen = { ...defaults, ...options };
  checkOptions(chosen);
  const seen = new SeenQuestions(chosen.same);
  const taken = new Set(chosen.against.flatMap((text) => rowsOf(wordsOf(text), chosen.n)));
  const problems: CodeProblem[] = [];
  const leftOut: { id: string; why: ProblemLeftOut; detail?: string }[] = [];
  for await (const problem of proposed) {
    signal?.throwIfAborted();
    const found = seen.has(problem)
      ? { why: "duplicate" as const }
      : copiedShare(wordsOf(problem.question), chosen.n, taken) >= chosen.taken
        ? { why: "contaminated" as const }
        : await runProblem(problem, chosen, signal);
    if (found === undefined) {
      problems.push(problem);
      // one that does not hold must not keep a later one of its kind out
      seen.add(problem);
    } else leftOut.push({ id: problem.id, ...found });
  }
  return { problems, leftOut };
}

function checkOptions({ n, taken, same, minTests, timeoutMs, memoryMb }: CodeProblemsOptions): void {
  checkWholeOptions("checkProblems", {
    n: [n, 1, 1000],
    minTests: [minTests, 1, 10_000],
    timeoutMs: [timeoutMs, 1, 3_600_000],
    memoryMb: [memoryMb, 16, 1 << 20],
  });
  for (const [name, share] of Object.entries({ taken, same })) {
    if (share > 0 && share <= 1) continue;
    throw new LudusError("bad-option", { got: `${name} = ${share} of checkProblems`, expected: `0 < ${name} <= 1` });
  }
}

async function runProblem(
  { solution, test }: CodeProblem,
  { sandbox = defaultSandbox(), timeoutMs, memoryMb, minTests }: CodeProblemsOptions,
  signal: AbortSignal | undefined,
): Promise<{ why: ProblemLeftOut; detail?: string } | undefined> {
  const run = (code: string, hashSeed: string) => {
    const files = { "solution.py": code, "test_solution.py": test };
    return runTestFiles(files, pythonTestRunner, { sandbox, limits: { timeoutMs, memoryMb }, hashSeed, signal });
  };
  for (const hashSeed of ["1", "2"]) {
    const { passed, problem } = await run(solution, hashSeed);
    const failed = [...passed].find(([, isPassed]) => !isPassed)?.[0];
    const detail = failed ?? problem;
    if (detail !== undefined) return { why: "fails", detail };
    if (passed.size < minTests) return { why: "too-few-tests", detail: `${passed.size} of ${minTests}` };
  }
  const { passed } = await run(emptySolution, "1");
  return passed.size > 0 && [...passed.values()].every(Boolean) ? { why: "tests-nothing" } : undefined;
}

const shingle = 3;

class SeenQuestions {
  readonly #same: number;
  readonly #solutions = new Set<string>();
  readonly #questions: ReadonlySet<string>[] = [];
  /** Which questions have a row of words. */
  readonly #places = new Map<string, number[]>();

  constructor(same: number) {
    this.#same = same;
  }

  add({ question, solution }: CodeProblem): void {
    const rows = shinglesOf(question);
    for (const row of rows) this.#places.set(row, [...(this.#places.get(row) ?? []), this.#questions.length]);
    this.#questions.push(rows);
    this.#solutions.add(withoutSpace(solution));
  }

  has({ question, solution }: CodeProblem): boolean {
    if (this.#solutions.has(withoutSpace(solution))) return true;
    const rows = shinglesOf(question);
    const shared = new Map<number, number>();
    for (const row of rows)
      for (const place of this.#places.get(row) ?? []) shared.set(place, (shared.get(place) ?? 0) + 1);
    return [...shared].some(([place, both]) => both / (rows.size + this.#questions[place]!.size - both) >= this.#same);
  }
}

function shinglesOf(question: string): Set<string> {
  const words = wordsOf(question);
  return new Set(words.length < shingle ? [words.join(" ")] : rowsOf(words, shingle));
}

/** Without comments, empty lines and spaces inside lines; indentation stays, as it means something. */
function withoutSpace(code: string): string {
  const lines = code.split("\n").map((line) => line.replace(/\s+#.*$|^#.*$/, "").trimEnd());
  return lines
    .filter(Boolean)
    .map((line) => /^\s*/.exec(line)![0] + line.trim().replace(/\s+/g, ""))
    .join("\n");
}

// Only what is used is named; files have more fields, which are passed over.
const record = z.object({
  question_id: z.string().nullish(),
  question: z.string().min(1),
  solution: z.string().min(1),
  test: z.string().min(1),
});

/** A line of KodCode, for `jsonl(file, { parse: readKodCode })`. */
export function readKodCode(row: unknown): CodeProblem {
  const { question_id: id, question, solution, test } = record.parse(row);
  return { id: id ?? "", question, solution, test };
}
