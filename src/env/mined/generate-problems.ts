import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import { createRng, type Rng } from "../../random.ts";
import { checkWholeOptions } from "../environments/check-options.ts";
import { pick } from "../environments/draw.ts";
import { describeFunction, evaluate, type Program, writeModule } from "../environments/repository-program.ts";
import { drawLeaf, functionNames } from "../environments/repository-tasks.ts";
import type { CodeProblem } from "./code-problems.ts";

export interface GenerateProblemsOptions {
  count: number;
  /** Tests of a problem. */
  tests: number;
  seed: number;
}

const knownGenerateOptions: KnownOptions<GenerateProblemsOptions> = { count: true, tests: true, seed: true };
const defaults: GenerateProblemsOptions = { count: 100, tests: 4, seed: 0 };
const maxArgument = 9;

/** Problems about a short function of two whole numbers, to be checked by `checkProblems`: two of them may be the same. */
export function* generateProblems(options: Partial<GenerateProblemsOptions> = {}): Generator<CodeProblem> {
  refuseUnknownOptions("generateProblems", options, knownGenerateOptions);
  const { count, tests, seed } = { ...defaults, ...options };
  checkWholeOptions("generateProblems", { count: [count, 1, 10_000_000], tests: [tests, 1, 50] });
  const rng = createRng(seed);
  for (let made = 0; made < count; ) {
    const problem = drawProblem(rng, `generated-${seed}-${made}`, tests);
    if (problem === undefined) continue;
    made++;
    yield problem;
  }
}

/** Undefined where a call drawn for a test gives nothing, or all of them the same. */
function drawProblem(rng: Rng, id: string, tests: number): CodeProblem | undefined {
  const made = drawLeaf(rng, pick(rng, functionNames));
  const program: Program = [{ name: "solution", functions: [made] }];
  const cases = new Map<string, number>();
  for (let i = 0; i < tests * 5 && cases.size < tests; i++) {
    const args = [rng.integer(maxArgument + 1), rng.integer(maxArgument + 1)];
    const expected = evaluate(program, made.name, args);
    if (expected !== undefined) cases.set(`${made.name}(${args.join(", ")})`, expected);
  }
  if (cases.size < tests || (tests > 1 && new Set(cases.values()).size < 2)) return undefined;
  const asserts = [...cases].map(([call, value], i) => `def test_${i + 1}():\n    assert ${call} == ${value}`);
  return {
    id,
    question: `Write a function ${made.name}(${made.params.join(", ")}) of two whole numbers: ${describeFunction(made)}.`,
    solution: writeModule(program, program[0]!, new Map()),
    test: `${[`from solution import ${made.name}`, ...asserts].join("\n\n")}\n`,
  };
}
