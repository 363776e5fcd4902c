import { inspect } from "node:util";

// types promise these; environments in JavaScript, and casts, do not

export function checkText(field: string, value: string): string {
  if (typeof value === "string") return value;
  throw new TypeError(`\`${field}\` is ${inspect(value)}, not a string`);
}

export function checkObject<Value extends object>(call: string, value: Value): Value {
  if (typeof value === "object" && value !== null) return value;
  throw new TypeError(`${call} returned ${inspect(value)}, not an object`);
}
