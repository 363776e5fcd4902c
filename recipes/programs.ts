import { defineEnv, type Env, generated, type Rng, type Score } from "ludus";
import { type PythonEvaluation, type PythonEvaluator, pythonEvaluator } from "ludus/tool";

/** One instruction: how it is said, and the line of Python that does it. */
interface Step {
  readonly words: string;
  readonly line: string;
  run(value: number): number;
}

export interface ProgramTask {
  readonly start: number;
  readonly steps: readonly Omit<Step, "run">[];
  /** What the program gives for each of `inputs`. */
  readonly outputs: readonly number[];
}

/** What programs are tried on; the question of a task with `start` asks for that alone. */
export const inputs = [0, 1, 2, 5, 8, 13] as const;

const pick = <Item>(rng: Rng, items: readonly Item[]): Item => items[rng.integer(items.length)]!;

/** The same instruction is said in several ways, and some words have no number in them: there is something to learn. */
function drawStep(rng: Rng): Step {
  const n = 2 + rng.integer(8);
  const few = 2 + rng.integer(2);
  const word = (one: string, two: string, three: string) => pick(rng, [one, two, three]);
  const steps: readonly (() => Step)[] = [
    () => ({ words: word(`add ${n}`, `${n} more`, `gain ${n}`), line: `a=a+${n}`, run: (a) => a + n }),
    () => ({ words: word(`lose ${n}`, `${n} less`, `drop ${n}`), line: `a=a-${n}`, run: (a) => a - n }),
    () => ({ words: few === 2 ? "double" : "triple", line: `a=a*${few}`, run: (a) => a * few }),
    () => ({ words: few === 2 ? "halve" : "third", line: `a=a//${few}`, run: (a) => Math.floor(a / few) }),
    () => ({
      words: word(`at least ${n}`, `min ${n}`, `no less ${n}`),
      line: `a=max(a,${n})`,
      run: (a) => Math.max(a, n),
    }),
    () => ({
      words: word(`at most ${n}`, `cap ${n}`, `no more ${n}`),
      line: `a=min(a,${n})`,
      run: (a) => Math.min(a, n),
    }),
    () => ({ words: pick(rng, ["square", "by itself"]), line: "a=a*a", run: (a) => a * a }),
    () => ({ words: `rest ${n}`, line: `a=a%${n}`, run: (a) => a - n * Math.floor(a / n) }),
  ];
  return pick(rng, steps)();
}

export function drawTask(rng: Rng, lines: readonly number[]): ProgramTask {
  const steps = Array.from({ length: pick(rng, lines) }, () => drawStep(rng));
  const start = rng.integer(20);
  const result = (value: number) => steps.reduce((a, { run }) => run(a), value);
  return { start, steps: steps.map(({ words, line }) => ({ words, line })), outputs: [...inputs, start].map(result) };
}

export const questionOf = ({ steps }: ProgramTask) => steps.map(({ words }) => words).join(", ");
export const programOf = ({ steps }: ProgramTask) => steps.map(({ line }) => line).join("\n");

/** The lines of a program as a function, which is what is run. */
export function functionOf(program: string): string {
  const lines = program.split("\n").map((line) => ` ${line}`);
  return ["def f(a):", ...lines, " return a"].join("\n");
}

let shared: PythonEvaluator | undefined;

/** Programs of all arms go through one evaluator, in boxes. */
export function evaluator(): PythonEvaluator {
  shared ??= pythonEvaluator({ limits: { testMs: 1_000, memoryMb: 256 } });
  return shared;
}

const kept = new Map<string, PythonEvaluation>();
const mostKept = 100_000;

/**
 * What a program gives for the inputs and for the start of its task, in that order. The reference is not run: what it gives is known (and tested). A
 * program that was run on these inputs is not run again.
 */
export async function runProgram(program: string, task: ProgramTask, signal: AbortSignal): Promise<PythonEvaluation> {
  const { start, outputs } = task;
  if (program === programOf(task)) return { kind: "value", value: outputs };
  const key = `${start}:${program}`;
  const known = kept.get(key);
  if (known !== undefined) return known;
  const calls = [...inputs, start].map((value) => `f(${value})`);
  const result = await evaluator().evaluate(functionOf(program), `[${calls.join(", ")}]`, signal);
  if (kept.size < mostKept) kept.set(key, result);
  return result;
}

export const isRight = (result: PythonEvaluation, { outputs }: ProgramTask) =>
  result.kind === "value" && JSON.stringify(result.value) === JSON.stringify(outputs);

/** CodeRL's returns (arXiv 2207.01780): not compiled, threw, a wrong value, right. */
export const codeRlReturns: readonly number[] = [-1, -0.6, -0.3, 1];

/** Which of the four it is. */
export function outcomeOf(result: PythonEvaluation, task: ProgramTask): 0 | 1 | 2 | 3 {
  if (result.kind === "not-compiled") return 0;
  if (result.kind !== "value") return 1;
  return isRight(result, task) ? 3 : 2;
}

/** What a program gives for the start of its task, in words; empty where it gives no number. */
export function answerOf(result: PythonEvaluation): string {
  const last = result.kind === "value" && Array.isArray(result.value) ? result.value.at(-1) : undefined;
  return typeof last === "number" ? `${last}` : "";
}

interface ProgramState {
  program: string;
  result: PythonEvaluation | undefined;
}

export interface ProgramScoring {
  readonly task: ProgramTask;
  readonly program: string;
  readonly result: PythonEvaluation;
  readonly progress: number;
  readonly signal: AbortSignal;
}

export interface ProgramsOptions {
  /** Instructions of a task: one of these numbers. */
  lines?: readonly number[];
  /** How many different tasks the split `train` has; without end where it is left out. */
  questions?: number;
  score: (scoring: ProgramScoring) => Promise<Score> | Score;
  say?: (task: ProgramTask) => string;
}

/**
 * Instructions in words, to be written as lines of Python: `double, 3 more` is `a=a*2` and `a=a+3`. Programs are run in boxes of bubblewrap; values
 * are compared outside. Test tasks have instructions that no training task has in that order.
 */
export function programs({ lines = [2, 3], questions, score, say = questionOf }: ProgramsOptions): Env<ProgramTask> {
  const endless = generated((rng) => drawTask(rng, lines), { name: "programs", key: programOf });
  const at = (split: string, index: number) =>
    endless.at(split, split === "train" && questions !== undefined ? index % questions : index);
  return defineEnv<ProgramTask, ProgramState>({
    name: "programs",
    description: "Write instructions as lines of Python",
    tasks: { ...endless, at },
    start: ({ task }) => ({ state: { program: "", result: undefined }, say: say(task) }),
    async act({ task, state, answer, signal }) {
      state.program = answer;
      state.result = await runProgram(answer, task, signal);
      return { done: true, info: { answer: answerOf(state.result) } };
    },
    score: ({ task, state, training, signal }): Score | Promise<Score> => {
      const { program, result = { kind: "threw", message: "nothing was said" } } = state;
      return score({ task, program, result, progress: training?.progress ?? 1, signal });
    },
    expert: ({ task }) => programOf(task),
    actions: ({ task, rng }) => [sloppy(programOf(task), rng)],
    limits: { turns: 1, turnTokens: 48, tokens: 160, envMs: 120_000 },
  }) as Env<ProgramTask>;
}

/** A program with a mistake: another number or operator, or a character that is not there. */
export function sloppy(program: string, rng: Rng): string {
  const characters = [...program];
  const at = rng.integer(characters.length);
  const other = characters[at]!;
  const near = /\d/.test(other) ? "23456789" : /[-+*/%]/.test(other) ? "+-*%" : "";
  if (near === "") characters.splice(at, 1);
  else characters[at] = pick(rng, [...near]);
  return characters.join("");
}
