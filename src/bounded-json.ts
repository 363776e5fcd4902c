import { bounds } from "./bounds.ts";

/** `JSON.parse` for text from outside: throws a `SyntaxError` also where arrays and objects are nested too deep. */
export function parseBoundedJson(text: string): unknown {
  if (isTooDeep(text)) throw tooDeep();
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

/** Whether arrays and objects are nested deeper than `bounds.jsonDepth` in a text that may be JSON. In one pass, before it is parsed. */
export function isTooDeep(json: string): boolean {
  let [depth, isString] = [0, false];
  for (let at = 0; at < json.length; at++) {
    const unit = json.charCodeAt(at);
    if (isString) {
      if (unit === 0x5c) at++;
      else if (unit === 0x22) isString = false;
    } else if (unit === 0x22) isString = true;
    else if (unit === 0x5b || unit === 0x7b) {
      if (++depth > bounds.jsonDepth) return true;
    } else if (unit === 0x5d || unit === 0x7d) depth--;
  }
  return false;
}

function isDeepValue(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  return Object.values(value).some((inner) => isDeepValue(inner, levels - 1));
}
