import { isPythonFloat, PythonFloat, type PythonValue, pythonEqual, pythonType } from "./python-json.ts";

// The Berkeley Function Calling Leaderboard's check of calls by their structure (`ast_checker`), for Python's categories. Its answers list what
// each argument may be; `""` among them says that it may be left out.

export interface BfclFunction {
  readonly name: string;
  readonly parameters: {
    readonly properties: Readonly<Record<string, BfclParameter>>;
    readonly required: readonly string[];
  };
}

export interface BfclParameter {
  readonly type: string;
  readonly items?: { readonly type?: string | undefined } | undefined;
}

export interface BfclCall {
  readonly name: string;
  readonly arguments: Readonly<Record<string, PythonValue>>;
}

/** One function, and what each of its arguments may be. */
export type BfclAnswer = Readonly<Record<string, Readonly<Record<string, readonly PythonValue[]>>>>;

const types: Readonly<Record<string, string>> = {
  ...{ string: "str", integer: "int", float: "float", boolean: "bool", array: "list", tuple: "list" },
  ...{ dict: "dict", any: "str" },
};

/** Names that OpenAI's protocol does not allow are written with `_` for `.`. */
export function bfclName(name: string): string {
  return name.replace(/\./g, "_");
}

/** Whether the calls are right. `category` decides whether there may be several functions or several calls, as in the released code. */
export function bfclMatches(
  functions: readonly BfclFunction[],
  calls: readonly BfclCall[],
  answers: readonly BfclAnswer[],
  category: string,
): boolean {
  if (calls.length !== answers.length) return false;
  if (category.includes("parallel")) return matchesInAnyOrder(functions, calls, answers);
  const [answer] = answers;
  const meant = category.includes("multiple") ? describe(functions, answer) : functions[0];
  return meant !== undefined && calls.length === 1 && isRightCall(meant, calls[0], answer);
}

/** Each answer takes the first call that fits it and was not taken. */
function matchesInAnyOrder(
  functions: readonly BfclFunction[],
  calls: readonly BfclCall[],
  answers: readonly BfclAnswer[],
): boolean {
  const left = new Set(calls);
  return answers.every((answer) => {
    const meant = describe(functions, answer);
    const found = [...left].find((call) => meant !== undefined && isRightCall(meant, call, answer));
    return found !== undefined && left.delete(found);
  });
}

function describe(functions: readonly BfclFunction[], answer: BfclAnswer): BfclFunction | undefined {
  return functions.find(({ name }) => name === Object.keys(answer)[0]);
}

function isRightCall({ name, parameters }: BfclFunction, call: BfclCall, answer: BfclAnswer): boolean {
  const possible = Object.values(answer)[0];
  if (bfclName(name) !== call.name) return false;
  const has = (key: string) => Object.hasOwn(call.arguments, key);
  if (!parameters.required.every(has)) return false;
  for (const [key, value] of Object.entries(call.arguments)) {
    if (!Object.hasOwn(parameters.properties, key) || !Object.hasOwn(possible, key)) return false;
    if (!isRightArgument(parameters.properties[key], value, possible[key])) return false;
  }
  return Object.keys(possible).every((key) => has(key) || possible[key].includes(""));
}

function isRightArgument(
  { type, items }: BfclParameter,
  given: PythonValue,
  possible: readonly PythonValue[],
): boolean {
  const value = type === "float" && pythonType(given) === "int" ? new PythonFloat(Number(given)) : given;
  const expected = types[type];
  const nested = type === "array" || type === "tuple" ? types[items?.type ?? ""] : undefined;
  const checked = checkType(value, possible, expected, nested);
  if (checked === "wrong") return false;
  if (checked === "value") {
    if (expected === "dict") return isRightDict(value, possible);
    if (expected === "list" && nested === "dict") return isRightListOfDicts(value, possible);
    if (expected === "str") return possible.some((one) => typeof one === "string" && alike(value, one));
    if (expected === "list") return possible.some((one) => Array.isArray(one) && sameList(value, one));
  }
  return possible.some((one) => pythonEqual(value, one));
}

/** A `variable` is of the type of the answers instead of that of the function. Nested types are looked at one level deep. */
function checkType(
  value: PythonValue,
  possible: readonly PythonValue[],
  expected: string | undefined,
  nested: string | undefined,
): "value" | "variable" | "wrong" {
  const first = possible.find((one) => one !== "");
  const kind = first !== undefined && pythonType(first) !== expected ? "variable" : "value";
  if (pythonType(value) === expected) {
    if (nested === undefined || !Array.isArray(value)) return kind;
    const fits = (one: PythonValue) =>
      !Array.isArray(one) || value.every((item) => checkType(item, one, nested, undefined) !== "wrong");
    return possible.some(fits) ? kind : "wrong";
  }
  return first !== undefined && pythonType(value) === pythonType(first) ? "variable" : "wrong";
}

function standard(value: PythonValue): PythonValue {
  if (typeof value !== "string") return value;
  return value
    .replace(/[ ,./\-_*^]/g, "")
    .toLowerCase()
    .replaceAll("'", '"');
}

function alike(a: PythonValue, b: PythonValue): boolean {
  return pythonEqual(standard(a), standard(b));
}

function sameList(value: PythonValue, one: readonly PythonValue[]): boolean {
  return Array.isArray(value) && value.length === one.length && value.every((item, i) => alike(item, one[i]));
}

function isDict(value: PythonValue): value is Readonly<Record<string, PythonValue>> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isPythonFloat(value);
}

function isRightDict(value: PythonValue, possible: readonly PythonValue[]): boolean {
  return possible.some((one) => {
    if (!isDict(one) || !isDict(value)) return false;
    const listed = (key: string) => (Array.isArray(one[key]) ? (one[key] as readonly PythonValue[]) : []);
    const isKnown = ([key, inner]: readonly [string, PythonValue]) =>
      Object.hasOwn(one, key) && listed(key).some((each) => alike(inner, each));
    const isWhole = (key: string) => Object.hasOwn(value, key) || listed(key).includes("");
    return Object.entries(value).every(isKnown) && Object.keys(one).every(isWhole);
  });
}

function isRightListOfDicts(value: PythonValue, possible: readonly PythonValue[]): boolean {
  return possible.some((one) => {
    if (!Array.isArray(one) || !Array.isArray(value) || one.length !== value.length) return false;
    return value.every((item, index) => isRightDict(item, [one[index]]));
  });
}
