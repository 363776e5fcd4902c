import type { Comparison, Expression, Operator, ProgramFunction, Statement } from "./repository-program.ts";

export const bugKinds = ["operator", "constant", "off-by-one", "swapped-arguments", "wrong-variable"] as const;
export type BugKind = (typeof bugKinds)[number];

export interface Mutation {
  readonly kind: BugKind;
  readonly changed: ProgramFunction;
}

type Change<Part> = readonly [BugKind, Part];

const otherOperators: Readonly<Record<Operator, readonly Operator[]>> = {
  "+": ["-", "*"],
  "-": ["+"],
  "*": ["+"],
  "//": ["%", "*"],
  "%": ["//"],
};
const reversed: Readonly<Record<Comparison, Comparison>> = {
  "<": ">",
  "<=": ">=",
  ">": "<",
  ">=": "<=",
  "==": "!=",
  "!=": "==",
};
const offByOne: Readonly<Partial<Record<Comparison, Comparison>>> = { "<": "<=", "<=": "<", ">": ">=", ">=": ">" };

/** Every way to change one place of a function into a bug of one of the kinds. Each changes one line. */
export function mutationsOf(given: ProgramFunction): Mutation[] {
  const { params, body } = given;
  return body.flatMap((statement, index) => {
    const scope = [
      ...params,
      ...body.slice(0, index).flatMap((earlier) => (earlier.kind === "assign" ? [earlier.name] : [])),
    ];
    return statementChanges(statement, scope).map(([kind, changed]) => ({
      kind,
      changed: { ...given, body: body.with(index, changed) },
    }));
  });
}

function statementChanges(statement: Statement, scope: readonly string[]): Change<Statement>[] {
  const within = (names: readonly string[], expression: Expression, put: (changed: Expression) => Statement) =>
    expressionChanges(expression, names).map(([kind, changed]): Change<Statement> => [kind, put(changed)]);
  switch (statement.kind) {
    case "return":
    case "assign":
      return within(scope, statement.value, (value) => ({ ...statement, value }));
    case "guard": {
      const near = offByOne[statement.op];
      return [
        ["operator", { ...statement, op: reversed[statement.op] }],
        ...(near === undefined ? [] : [["off-by-one", { ...statement, op: near }] as const]),
        ...within(scope, statement.left, (left) => ({ ...statement, left })),
        ...within(scope, statement.right, (right) => ({ ...statement, right })),
        ...within(scope, statement.value, (value) => ({ ...statement, value })),
      ];
    }
    case "loop":
      return [
        ...shifted(statement.from).map((from): Change<Statement> => ["off-by-one", { ...statement, from }]),
        ...shifted(statement.to).map((to): Change<Statement> => ["off-by-one", { ...statement, to }]),
        ...within([...scope, statement.name], statement.value, (value) => ({ ...statement, value })),
      ];
    default:
      return statement satisfies never;
  }
}

/** One more or less, as it would be written. */
function shifted(bound: Expression): Expression[] {
  if (bound.kind === "number") return [{ ...bound, value: bound.value === 0 ? 1 : 0 }];
  if (bound.kind === "binary" && bound.op === "+") return [bound.left];
  return [{ kind: "binary", op: "+", left: bound, right: { kind: "number", value: 1 } }];
}

function expressionChanges(expression: Expression, scope: readonly string[]): Change<Expression>[] {
  switch (expression.kind) {
    case "number":
      return [-1, 1, 2]
        .map((step) => expression.value + step)
        .filter((value) => value > 0)
        .map((value) => ["constant", { ...expression, value }]);
    case "name":
      return scope
        .filter((name) => name !== expression.name)
        .map((name) => ["wrong-variable", { ...expression, name }]);
    case "binary":
      return [
        ...otherOperators[expression.op].map((op): Change<Expression> => ["operator", { ...expression, op }]),
        ...inner(expression.left, scope, (left) => ({ ...expression, left })),
        ...inner(expression.right, scope, (right) => ({ ...expression, right })),
      ];
    case "call": {
      const [first, second] = expression.args;
      const canSwap = first !== undefined && second !== undefined;
      return [
        ...(canSwap ? [["swapped-arguments", { ...expression, args: [second, first] }] as const] : []),
        ...expression.args.flatMap((arg, index) =>
          inner(arg, scope, (changed) => ({ ...expression, args: expression.args.with(index, changed) })),
        ),
      ];
    }
    default:
      return expression satisfies never;
  }
}

function inner(
  part: Expression,
  scope: readonly string[],
  put: (changed: Expression) => Expression,
): Change<Expression>[] {
  return expressionChanges(part, scope).map(([kind, changed]) => [kind, put(changed)]);
}
