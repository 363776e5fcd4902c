import { isTooDeep } from "../bounded-json.ts";

/** A number that was written with a point or an exponent: Python tells 5.0 from 5. */
export class PythonFloat {
  readonly value: number;
  constructor(value: number) {
    this.value = value;
  }
}

export type PythonValue =
  | null
  | boolean
  | number
  | string
  | PythonFloat
  | readonly PythonValue[]
  | { readonly [key: string]: PythonValue };

type Reviver = (key: string, value: unknown, context?: { readonly source?: string }) => unknown;

/** JSON as Python's `json.loads` reads it; throws a `SyntaxError` where it is none, or nested too deep. */
export function parsePythonJson(text: string): PythonValue {
  if (isTooDeep(text)) throw new SyntaxError("nested too deep");
  // the third argument, the source of the value, is in every Node that runs this; its type is not
  const revive: Reviver = (_key, value, context) =>
    typeof value === "number" && /[.eE]/.test(context?.source ?? "") ? new PythonFloat(value) : value;
  return JSON.parse(text, revive as Parameters<typeof JSON.parse>[1]) as PythonValue;
}

export function isPythonFloat(value: PythonValue): value is PythonFloat {
  return value instanceof PythonFloat;
}

export function pythonType(value: PythonValue): string {
  if (value === null) return "NoneType";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "number") return "int";
  if (typeof value === "string") return "str";
  if (isPythonFloat(value)) return "float";
  return Array.isArray(value) ? "list" : "dict";
}

/** `==`: 1, 1.0 and True are equal. */
export function pythonEqual(a: PythonValue, b: PythonValue): boolean {
  const [x, y] = [numberOf(a), numberOf(b)];
  if (x !== undefined || y !== undefined) return x === y;
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, index) => pythonEqual(item, b[index]));
  }
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return a === b;
  if (Array.isArray(a) || Array.isArray(b)) return false;
  const [left, right] = [Object.entries(a), Object.entries(b)];
  const other = new Map(right);
  return (
    left.length === right.length && left.every(([key, value]) => other.has(key) && pythonEqual(value, other.get(key)!))
  );
}

function numberOf(value: PythonValue): number | undefined {
  if (typeof value === "number") return value;
  if (typeof value === "boolean") return Number(value);
  return typeof value === "object" && value !== null && isPythonFloat(value) ? value.value : undefined;
}
