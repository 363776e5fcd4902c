import { bounds } from "./bounds.ts";

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
