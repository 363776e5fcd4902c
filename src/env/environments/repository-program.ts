/**
 * A subset of Python with whole numbers only, small enough to be evaluated here: what a generated test expects is known without
 * running anything. `repositories.test.ts` compares it with Python.
 */
export type Operator = "+" | "-" | "*" | "//" | "%";
export type Comparison = "<" | "<=" | ">" | ">=" | "==" | "!=";

export type Expression =
  | { readonly kind: "number"; readonly value: number }
  | { readonly kind: "name"; readonly name: string }
  | { readonly kind: "binary"; readonly op: Operator; readonly left: Expression; readonly right: Expression }
  | { readonly kind: "call"; readonly name: string; readonly args: readonly Expression[] };

export type Statement =
  | { readonly kind: "return"; readonly value: Expression }
  | { readonly kind: "assign"; readonly name: string; readonly value: Expression }
  | {
      /** `if left op right: return value` */
      readonly kind: "guard";
      readonly op: Comparison;
      readonly left: Expression;
      readonly right: Expression;
      readonly value: Expression;
    }
  | {
      /** `for name in range(from, to): sum = sum + value` */
      readonly kind: "loop";
      readonly name: string;
      readonly from: Expression;
      readonly to: Expression;
      readonly sum: string;
      readonly value: Expression;
    };

export interface ProgramFunction {
  readonly name: string;
  readonly params: readonly string[];
  readonly body: readonly Statement[];
}

export interface ProgramModule {
  readonly name: string;
  readonly functions: readonly ProgramFunction[];
}

export type Program = readonly ProgramModule[];

/** A call and what it gives when there is no bug. */
export interface RepositoryCase {
  readonly module: string;
  readonly name: string;
  readonly args: readonly number[];
  readonly expected: number;
}

const maxSteps = 5_000;
const maxValue = 1e9;

export const repositoryLanguages = ["python", "javascript"] as const;
export type RepositoryLanguage = (typeof repositoryLanguages)[number];

/** `undefined` where an error would be raised, or where it takes long or becomes large. */
export function evaluate(
  program: Program,
  name: string,
  args: readonly number[],
  language: RepositoryLanguage = "python",
): number | undefined {
  const functions = new Map(program.flatMap((module) => module.functions.map((each) => [each.name, each] as const)));
  let steps = 0;
  const operate = operations(language);
  const call = (called: string, values: readonly number[]): number => {
    if (++steps > maxSteps) throw new RangeError("too many steps");
    if (called === "min") return Math.min(...values);
    if (called === "max") return Math.max(...values);
    const { params, body } = functions.get(called)!;
    const names = new Map(params.map((param, index) => [param, values[index]!]));
    for (const statement of body) {
      const returned = run(statement, names);
      if (returned !== undefined) return returned;
    }
    throw new RangeError("nothing returned");
  };
  const resultOf = (expression: Expression, names: ReadonlyMap<string, number>): number => {
    switch (expression.kind) {
      case "number":
        return expression.value;
      case "name":
        return names.get(expression.name) ?? fail(`${expression.name} is not set`);
      case "binary":
        return operate(expression.op, resultOf(expression.left, names), resultOf(expression.right, names));
      case "call":
        return call(
          expression.name,
          expression.args.map((arg) => resultOf(arg, names)),
        );
      default:
        return expression satisfies never;
    }
  };
  const run = (statement: Statement, names: Map<string, number>): number | undefined => {
    switch (statement.kind) {
      case "return":
        return resultOf(statement.value, names);
      case "assign":
        names.set(statement.name, resultOf(statement.value, names));
        return undefined;
      case "guard": {
        const isMet = compare(statement.op, resultOf(statement.left, names), resultOf(statement.right, names));
        return isMet ? resultOf(statement.value, names) : undefined;
      }
      case "loop": {
        const [from, to] = [resultOf(statement.from, names), resultOf(statement.to, names)];
        for (let i = from; i < to; i++) {
          if (++steps > maxSteps) throw new RangeError("too many steps");
          names.set(statement.name, i);
          names.set(statement.sum, operate("+", names.get(statement.sum)!, resultOf(statement.value, names)));
        }
        return undefined;
      }
      default:
        return statement satisfies never;
    }
  };
  try {
    return call(name, args);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function fail(why: string): never {
  throw new RangeError(why);
}

/** Division rounds down in both; the remainder does in Python, and is that of `%` in JavaScript. */
function operations(language: RepositoryLanguage): (op: Operator, left: number, right: number) => number {
  return (op, left, right) => {
    if ((op === "//" || op === "%") && right === 0) fail("division by zero");
    const quotient = () => Math.floor(left / right);
    const results = {
      "+": () => left + right,
      "-": () => left - right,
      "*": () => left * right,
      "//": quotient,
      "%": () => (language === "python" ? left - right * quotient() : left % right),
    };
    const result = results[op]();
    // it may be -0
    return Math.abs(result) > maxValue ? fail("too large") : result + 0;
  };
}

function compare(op: Comparison, left: number, right: number): boolean {
  const results = {
    "<": left < right,
    "<=": left <= right,
    ">": left > right,
    ">=": left >= right,
    "==": left === right,
    "!=": left !== right,
  };
  return results[op];
}

/** The functions that a module calls, by the module they are in; its own are left out. */
export function importsOf(program: Program, module: ProgramModule): Map<string, string[]> {
  const called = new Set(module.functions.flatMap(({ body }) => body.flatMap(callsIn)));
  const imports = new Map<string, string[]>();
  for (const other of program) {
    const names = other.functions.map(({ name }) => name).filter((name) => called.has(name));
    if (other.name !== module.name && names.length > 0) imports.set(other.name, names);
  }
  return imports;
}

function callsIn(statement: Statement): string[] {
  const parts = Object.values(statement).filter((part): part is Expression => typeof part === "object");
  const names = (expression: Expression): string[] => {
    if (expression.kind === "binary") return [expression.left, expression.right].flatMap(names);
    return expression.kind === "call" ? [expression.name, ...expression.args.flatMap(names)] : [];
  };
  return parts.flatMap(names);
}

/** Python. `words` says what each function does, by its name; nothing is said where there is none. */
export function writeModule(program: Program, module: ProgramModule, words: ReadonlyMap<string, string>): string {
  const imports = [...importsOf(program, module)].map(([from, names]) => `from ${from} import ${names.join(", ")}`);
  // by name: the place of a function tells nothing
  const sorted = [...module.functions].sort((one, other) => (one.name < other.name ? -1 : 1));
  const functions = sorted.map(({ name, params, body }) => {
    const said = words.get(name);
    const lines = [...(said === undefined ? [] : [`# ${said}`]), ...body.flatMap(writeStatement)];
    return [`def ${name}(${params.join(", ")}):`, ...lines.map((line) => `    ${line}`)].join("\n");
  });
  return `${[...(imports.length > 0 ? [imports.join("\n")] : []), ...functions].join("\n\n")}\n`;
}

function writeStatement(statement: Statement): string[] {
  switch (statement.kind) {
    case "return":
      return [`return ${writeExpression(statement.value)}`];
    case "assign":
      return [`${statement.name} = ${writeExpression(statement.value)}`];
    case "guard": {
      const { left, op, right, value } = statement;
      return [`if ${writeExpression(left)} ${op} ${writeExpression(right)}:`, `    return ${writeExpression(value)}`];
    }
    case "loop": {
      const { name, from, to, sum, value } = statement;
      const range = `range(${writeExpression(from)}, ${writeExpression(to)})`;
      return [`for ${name} in ${range}:`, `    ${sum} = ${sum} + ${writeInner(value)}`];
    }
    default:
      return statement satisfies never;
  }
}

export function writeExpression(expression: Expression): string {
  switch (expression.kind) {
    case "number":
      return String(expression.value);
    case "name":
      return expression.name;
    case "binary":
      return `${writeInner(expression.left)} ${expression.op} ${writeInner(expression.right)}`;
    case "call":
      return `${expression.name}(${expression.args.map(writeExpression).join(", ")})`;
    default:
      return expression satisfies never;
  }
}

const writeInner = (expression: Expression) =>
  expression.kind === "binary" ? `(${writeExpression(expression)})` : writeExpression(expression);

const operatorWords: Readonly<Record<Operator, string>> = {
  "+": "plus",
  "-": "minus",
  "*": "times",
  "//": "over",
  "%": "modulo",
};
const comparisonWords: Readonly<Record<Comparison, string>> = {
  "<": "is below",
  "<=": "is at most",
  ">": "is above",
  ">=": "is at least",
  "==": "is",
  "!=": "is not",
};

/** What a function does, in words: the specification that its code may not meet. */
export function describeFunction({ body }: ProgramFunction): string {
  return body.map(describeStatement).join("; ");
}

function describeStatement(statement: Statement): string {
  const say = describeExpression;
  switch (statement.kind) {
    case "return":
      return `gives ${say(statement.value)}`;
    case "assign":
      return `${statement.name} is ${say(statement.value)}`;
    case "guard": {
      const { left, op, right, value } = statement;
      return `${say(value)} if ${say(left)} ${comparisonWords[op]} ${say(right)}`;
    }
    case "loop": {
      const { name, from, to, sum, value } = statement;
      return `${sum} adds ${say(value)} for ${name} from ${say(from)}, below ${say(to)}`;
    }
    default:
      return statement satisfies never;
  }
}

function describeExpression(expression: Expression): string {
  switch (expression.kind) {
    case "number":
    case "name":
      return writeExpression(expression);
    case "binary": {
      const { left, op, right } = expression;
      return `${describeInner(left)} ${operatorWords[op]} ${describeInner(right)}`;
    }
    case "call":
      return `${expression.name}(${expression.args.map(describeExpression).join(", ")})`;
    default:
      return expression satisfies never;
  }
}

const describeInner = (expression: Expression) =>
  expression.kind === "binary" ? `(${describeExpression(expression)})` : describeExpression(expression);
