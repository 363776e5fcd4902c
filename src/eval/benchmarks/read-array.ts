import { createReadStream } from "node:fs";
import { LudusError } from "../../errors.ts";

/** Characters of one element. */
const longest = 16 * 2 ** 20;

/** The elements of a file that is one JSON array, as texts, one after the other: published files may be larger than a text can be. */
export async function* arrayElements(path: string): AsyncGenerator<string> {
  let [depth, isText, isEscaped, hasBegun] = [0, false, false, false];
  let element = "";
  for await (const chunk of createReadStream(path, { encoding: "utf8", highWaterMark: 1 << 20 })) {
    const text = String(chunk);
    let from = 0;
    for (let i = 0; i < text.length; i++) {
      const character = text[i];
      if (isText) {
        if (isEscaped) isEscaped = false;
        else if (character === "\\") isEscaped = true;
        else if (character === '"') isText = false;
        continue;
      }
      if (character === '"') isText = true;
      else if (character === "[" || character === "{") {
        if (depth === 0) {
          if (character !== "[" || hasBegun) throw noArray(path);
          hasBegun = true;
          from = i + 1;
        }
        depth++;
      } else if (character === "]" || character === "}") depth--;
      const isEnd = (depth === 1 && character === ",") || (depth === 0 && character === "]");
      if (!isEnd) continue;
      const whole = (element + text.slice(from, i)).trim();
      if (whole !== "") yield whole;
      element = "";
      from = i + 1;
    }
    if (depth > 0) element += text.slice(from);
    if (!hasBegun && text.trim() !== "") throw noArray(path);
    if (element.length > longest) throw noArray(path);
  }
  if (depth !== 0 || !hasBegun) throw noArray(path);
}

function noArray(path: string): LudusError {
  return new LudusError("bad-benchmark-data", { got: path, expected: "one whole JSON array of records" });
}
