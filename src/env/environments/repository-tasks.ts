import { LudusError } from "../../errors.ts";
import type { Rng } from "../../random.ts";
import { draw, pick } from "./draw.ts";
import { writeJavaScript, writeJavaScriptTests } from "./repository-javascript.ts";
import { type BugKind, mutationsOf } from "./repository-mutations.ts";
import {
  describeFunction,
  type Expression,
  evaluate,
  type Operator,
  type Program,
  type ProgramFunction,
  type ProgramModule,
  type RepositoryCase,
  type RepositoryLanguage,
  type Statement,
  writeModule,
} from "./repository-program.ts";

export interface RepositoryTask {
  readonly level: number;
  readonly kind: BugKind;
  readonly language: RepositoryLanguage;
  /** With the bug, and with `tests.py` or `tests.js`; by path. */
  readonly files: Readonly<Record<string, string>>;
  readonly bug: {
    readonly path: string;
    /** From 1. */
    readonly line: number;
    /** The line as it should be and as it is, without indentation. */
    readonly right: string;
    readonly wrong: string;
  };
  /** Other calls than those of the visible tests. They never enter the episode's box. */
  readonly hidden: readonly RepositoryCase[];
}

export interface RepositoryShape {
  readonly levels: readonly number[];
  readonly kinds: readonly BugKind[];
  readonly languages: readonly RepositoryLanguage[];
  /** Whether functions say in words what they do. */
  readonly explained: boolean;
}

const moduleNames = ["shop", "bank", "farm", "mill", "dock", "yard", "port", "barn", "mine", "fair"];
export const functionNames = [
  ...["price", "stock", "weight", "score", "tax", "size", "rate", "cost", "load", "fee", "gain", "level"],
  ...["worth", "share", "speed", "depth", "grade", "bonus", "limit", "span"],
];
const cases = { visible: 3, other: 1, hidden: 6, each: 2 };
const maxArgument = 9;
const maxDraws = 2_000;

/** One repository with one bug, drawn until tests show the bug: some fail with it, all pass without. */
export function drawRepository(rng: Rng, shape: RepositoryShape): RepositoryTask {
  const level = pick(rng, shape.levels);
  const kind = pick(rng, shape.kinds);
  // drawn only where there is a choice: tasks of one language stay what they are
  const language = shape.languages.length === 1 ? shape.languages[0]! : pick(rng, shape.languages);
  for (let i = 0; i < maxDraws; i++) {
    const task = tryRepository(rng, { level, kind, language, explained: shape.explained });
    if (task !== undefined) return task;
  }
  throw new LudusError("no-task", {
    got: `${maxDraws} repositories without a bug of kind ${kind}`,
    expected: "one that tests show",
  });
}

type Drawn = Pick<Parts, "level" | "kind" | "language" | "explained">;

function tryRepository(rng: Rng, drawn: Drawn): RepositoryTask | undefined {
  const { level, kind, language } = drawn;
  const right = drawProgram(rng, level);
  const [lowest] = right;
  const [buggy] = lowest!.functions;
  const mutations = mutationsOf(buggy!).filter((mutation) => mutation.kind === kind);
  if (mutations.length === 0) return undefined;
  const { changed } = pick(rng, mutations);
  const wrong: Program = [{ ...lowest!, functions: lowest!.functions.with(0, changed) }, ...right.slice(1)];
  const tests = drawCases(rng, right, right[level - 1]!.functions[0]!.name, language);
  if (tests === undefined) return undefined;
  const fails = ({ name, args, expected }: RepositoryCase) => evaluate(wrong, name, args, language) !== expected;
  // what fails must fail by its value: Python and this program agree about when a call takes too long only by chance
  const isEvaluated = [...tests.visible, ...tests.hidden].every(
    ({ name, args }) => evaluate(wrong, name, args, language) !== undefined,
  );
  if (!isEvaluated || !tests.visible.some(fails) || !tests.hidden.some(fails)) return undefined;
  return makeTask({ ...drawn, right, wrong, ...tests });
}

interface Parts {
  readonly level: number;
  readonly kind: BugKind;
  readonly language: RepositoryLanguage;
  readonly right: Program;
  readonly wrong: Program;
  readonly explained: boolean;
  readonly visible: readonly RepositoryCase[];
  readonly hidden: readonly RepositoryCase[];
}

interface Writer {
  readonly extension: string;
  module(program: Program, module: ProgramModule, words: ReadonlyMap<string, string>): string;
  tests(visible: readonly RepositoryCase[]): string;
}

const writers: Readonly<Record<RepositoryLanguage, Writer>> = {
  python: { extension: ".py", module: writeModule, tests: writeTests },
  javascript: { extension: ".js", module: writeJavaScript, tests: writeJavaScriptTests },
};

function makeTask(parts: Parts): RepositoryTask | undefined {
  const { level, kind, language, right, wrong, explained, visible, hidden } = parts;
  const writer = writers[language];
  const functions = right.flatMap((module) => module.functions);
  const words = new Map(explained ? functions.map((each) => [each.name, describeFunction(each)]) : []);
  const [path] = [`${right[0]!.name}${writer.extension}`];
  const [good, bad] = [right, wrong].map((program) => writer.module(program, program[0]!, words).split("\n"));
  const line = bad!.findIndex((text, index) => text !== good![index]);
  // the edit that is undone can be told by its text alone
  if (line < 0 || bad!.filter((text) => text.trim() === bad![line]!.trim()).length > 1) return undefined;
  const sorted = [...wrong].sort((one, other) => (one.name < other.name ? -1 : 1));
  const modules = sorted.map(
    (module) => [`${module.name}${writer.extension}`, writer.module(wrong, module, words)] as const,
  );
  return {
    level,
    kind,
    language,
    files: Object.fromEntries([...modules, [`tests${writer.extension}`, writer.tests(visible)]]),
    bug: { path, line: line + 1, right: good![line]!.trim(), wrong: bad![line]!.trim() },
    hidden,
  };
}

/**
 * A chain of `level` modules, each of which calls the one before it, and one beside it. The bug is in the first function of the first
 * module; tests call the last of the chain, `level - 1` calls away from it.
 */
function drawProgram(rng: Rng, level: number): Program {
  const modules = draw(rng, moduleNames, level + 1);
  const names = draw(rng, functionNames, 2 * (level + 1));
  const program: { name: string; functions: ProgramFunction[] }[] = [];
  for (const [index, name] of modules.entries()) {
    const [first, second] = [names[2 * index]!, names[2 * index + 1]!];
    const below = index === 0 || index === level ? undefined : program[index - 1]!.functions[0]!;
    const helper = drawLeaf(rng, second);
    const main = below === undefined ? drawCaller(rng, first, helper) : drawCaller(rng, first, below);
    program.push({
      name,
      functions: [rng.integer(2) === 0 && below === undefined ? drawLeaf(rng, first) : main, helper],
    });
  }
  return program;
}

const operators: readonly Operator[] = ["+", "-", "*", "//", "%"];
const number = (value: number): Expression => ({ kind: "number", value });
const name = (text: string): Expression => ({ kind: "name", name: text });
const binary = (op: Operator, left: Expression, right: Expression): Expression => ({ kind: "binary", op, left, right });

const parameterNames = [
  ["a", "b"],
  ["x", "y"],
  ["n", "k"],
  ["p", "q"],
] as const;

/** Two parameters, no calls of other functions. */
export function drawLeaf(rng: Rng, functionName: string): ProgramFunction {
  const params = pick(rng, parameterNames);
  const [one, two] = draw(rng, params.map(name)) as [Expression, Expression];
  const constant = () => number(2 + rng.integer(7));
  // a constant on the right of a division is never 0
  const simple = () => {
    const op = pick(rng, operators);
    return op === "//" || op === "%" ? binary(op, one, constant()) : binary(op, one, pick(rng, [two, constant()]));
  };
  const ending = (value: Expression): Statement => ({ kind: "return", value });
  const bodies: (() => Statement[])[] = [
    () => [ending(binary(pick(rng, ["+", "-"]), simple(), two))],
    () => [
      {
        kind: "guard",
        op: pick(rng, ["<", "<=", ">", ">="]),
        left: one,
        right: pick(rng, [two, constant()]),
        value: simple(),
      },
      ending(binary(pick(rng, ["+", "-", "*"]), two, constant())),
    ],
    () => [
      { kind: "assign", name: "total", value: pick(rng, [number(1), two]) },
      loop(rng, one, binary(pick(rng, ["+", "*"]), name("i"), pick(rng, [two, constant()]))),
      ending(name("total")),
    ],
    () => [ending(binary("+", { kind: "call", name: pick(rng, ["min", "max"]), args: [one, simple()] }, two))],
  ];
  return { name: functionName, params, body: pick(rng, bodies)() };
}

function loop(rng: Rng, bound: Expression, value: Expression): Statement {
  const to = rng.integer(2) === 0 ? bound : binary("+", bound, number(1));
  return { kind: "loop", name: "i", from: number(rng.integer(2)), to, sum: "total", value };
}

/** Two parameters, and a call of another function whose result counts. */
function drawCaller(rng: Rng, functionName: string, called: ProgramFunction): ProgramFunction {
  const params = pick(rng, parameterNames);
  const [one, two] = draw(rng, params.map(name)) as [Expression, Expression];
  const constant = () => number(2 + rng.integer(4));
  const call = (...args: Expression[]): Expression => ({ kind: "call", name: called.name, args });
  const ending = (value: Expression): Statement => ({ kind: "return", value });
  const bodies: (() => Statement[])[] = [
    () => [
      { kind: "assign", name: "part", value: call(one, binary("+", two, constant())) },
      ending(binary(pick(rng, ["+", "-"]), name("part"), binary("*", one, constant()))),
    ],
    () => [
      { kind: "guard", op: pick(rng, ["<", ">"]), left: one, right: constant(), value: call(two, one) },
      ending(binary("+", call(one, constant()), two)),
    ],
    () => [ending(binary(pick(rng, ["+", "-"]), call(one, two), constant()))],
  ];
  return { name: functionName, params, body: pick(rng, bodies)() };
}

/** Calls whose values are known; those of `entry`, the others of every function. None is both visible and hidden. */
function drawCases(rng: Rng, program: Program, entry: string, language: RepositoryLanguage) {
  const used = new Set<string>();
  const drawCase = (module: string, called: string): RepositoryCase | undefined => {
    for (let i = 0; i < 20; i++) {
      const args = [rng.integer(maxArgument + 1), rng.integer(maxArgument + 1)];
      const key = `${called} ${args}`;
      const expected = used.has(key) ? undefined : evaluate(program, called, args, language);
      if (expected === undefined) continue;
      used.add(key);
      return { module, name: called, args, expected };
    }
    return undefined;
  };
  const visible: (RepositoryCase | undefined)[] = [];
  const hidden: (RepositoryCase | undefined)[] = [];
  for (const module of program) {
    for (const each of module.functions) {
      const isEntry = each.name === entry;
      const isBeside = module === program.at(-1);
      const shown = isEntry ? cases.visible : isBeside ? cases.other : 0;
      for (let i = 0; i < shown; i++) visible.push(drawCase(module.name, each.name));
      for (let i = 0; i < (isEntry ? cases.hidden : cases.each); i++) hidden.push(drawCase(module.name, each.name));
    }
  }
  const isComplete = (list: readonly (RepositoryCase | undefined)[]): list is RepositoryCase[] =>
    list.every((each) => each !== undefined);
  return isComplete(visible) && isComplete(hidden) ? { visible, hidden } : undefined;
}

export const callOf = ({ name: called, args }: RepositoryCase) => `${called}(${args.join(", ")})`;

function writeTests(visible: readonly RepositoryCase[]): string {
  const imports = [...new Set(visible.map((each) => `from ${each.module} import ${each.name}`))];
  const tests = visible.map((each, index) => {
    return `def test_${index + 1}():\n    assert ${callOf(each)} == ${each.expected}`;
  });
  return `${[imports.join("\n"), ...tests].join("\n\n")}\n`;
}
