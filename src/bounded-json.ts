import { bounds } from "./bounds.ts";

/** `JSON.parse` for text from outside: throws a `SyntaxError` also where arrays and objects are nested too deep. */
export function parseBoundedJson(text: string): unknown {
  if (isDeepText(text)) throw tooDeep();
  return JSON.parse(text);
}

/** Throws where a value that was parsed elsewhere is nested too deep, such as the body of a request. */
export function checkJsonDepth<Value>(value: Value): Value {
  if (isDeepValue(value, bounds.jsonDepth)) throw tooDeep();
  return value;
}

function tooDeep(): SyntaxError {
  return new SyntaxError(`nested deeper than ${bounds.jsonDepth} levels`);
}

/** By hand: an expression that skips strings takes quadratic time where quotes are not closed. */
function isDeepText(text: string): boolean {
  let depth = 0;
  let isString = false;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (isString && character === "\\") at++;
    else if (character === '"') isString = !isString;
    else if (isString) continue;
    else if (character === "[" || character === "{") {
      if (++depth > bounds.jsonDepth) return true;
    } else if (character === "]" || character === "}") depth--;
  }
  return false;
}

function isDeepValue(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  return Object.values(value).some((inner) => isDeepValue(inner, levels - 1));
}
