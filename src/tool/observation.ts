/** What a tool returned, as text: strings as they are, nothing as `ok`, all else as JSON. Throws where JSON would lose something. */
export function toObservation(value: unknown): string {
  if (typeof value === "string") return value;
  if (value === undefined) return "ok";
  return JSON.stringify(value, refuseLoss);
}

function refuseLoss(this: unknown, key: string, value: unknown): unknown {
  const kind = lostIn(value);
  if (kind === undefined) return value;
  throw new TypeError(`JSON cannot say ${kind}${key === "" ? "" : ` (in "${key}")`}`);
}

/** JSON.stringify drops these or writes `{}` without a word. It refuses circles itself. */
function lostIn(value: unknown): string | undefined {
  if (typeof value === "function") return "a function";
  if (typeof value === "symbol") return "a symbol";
  if (typeof value === "bigint") return "a BigInt: return a number or a string";
  if (value instanceof Map || value instanceof Set) return "a Map or Set: return an object or an array";
  if (value instanceof Promise) return "a promise: await it";
  return undefined;
}

/**
 * Text of at most `maxChars` UTF-16 units, beginning and end kept, and in between a line that says how much is missing. The
 * line is kept whole even where `maxChars` is less than its length.
 */
export function cutText(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  // the count can only get shorter than this
  const room = Math.max(0, maxChars - notice(text.length).length);
  const headRoom = Math.ceil((room * 2) / 3);
  const headEnd = backToCharacter(text, headRoom);
  const tailStart = onToCharacter(text, text.length - (room - headRoom));
  return text.slice(0, headEnd) + notice(tailStart - headEnd) + text.slice(tailStart);
}

const notice = (chars: number) => `\n[${chars} characters cut]\n`;

const splitsCharacter = (text: string, at: number) =>
  /[\uD800-\uDBFF]/.test(text.charAt(at - 1)) && /[\uDC00-\uDFFF]/.test(text.charAt(at));
const backToCharacter = (text: string, at: number) => (splitsCharacter(text, at) ? at - 1 : at);
const onToCharacter = (text: string, at: number) => (splitsCharacter(text, at) ? at + 1 : at);
