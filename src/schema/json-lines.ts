import { errorText, LudusError } from "../errors.ts";
import type { KnownOptions } from "../known-options.ts";

/** Lines as they come, from a file, a response or an array. */
export type Lines = AsyncIterable<string> | Iterable<string>;

export interface ReadLinesOptions {
  /** Whether a line that cannot be read ends the reading or is left out and counted. */
  badLines: "throw" | "skip";
}

export const knownReadLinesOptions: KnownOptions<ReadLinesOptions> = { badLines: true };

/** What was read, as it is read. */
export interface LineReader<Value> extends AsyncIterable<Value> {
  /** How many lines were left out so far. */
  readonly skipped: number;
  /** Why the first of them was. */
  readonly firstSkipped: LudusError | undefined;
}

const defaults: ReadLinesOptions = { badLines: "throw" };

/** One JSON value a line; empty lines are passed over. A `bad-line` error has the line's number and what was wrong with it. */
export function readJsonLines<Value>(
  lines: Lines,
  parse: (value: unknown) => Value,
  options: Partial<ReadLinesOptions> = {},
): LineReader<Value> {
  const { badLines } = { ...defaults, ...options };
  let skipped = 0;
  let firstSkipped: LudusError | undefined;
  async function* read(): AsyncGenerator<Value> {
    let number = 0;
    for await (const line of lines) {
      number++;
      if (line.trim() === "") continue;
      const result = parseLine(line, number, parse);
      if (!("error" in result)) {
        yield result.value;
        continue;
      }
      if (badLines === "throw") throw result.error;
      skipped++;
      firstSkipped ??= result.error;
    }
  }
  return {
    [Symbol.asyncIterator]: read,
    get skipped() {
      return skipped;
    },
    get firstSkipped() {
      return firstSkipped;
    },
  };
}

/** A value as one line of JSON, its end included. */
export function jsonLine(value: unknown): string {
  // some readers, Node's readline among them, also break lines at these two
  return `${JSON.stringify(value).replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029")}\n`;
}

/** Chunks of a file or a response, cut at line feeds alone: Node's `readline` also cuts inside JSON strings, at U+2028. */
export async function* textLines(
  chunks: AsyncIterable<Uint8Array | string> | Iterable<Uint8Array | string>,
): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let pieces: string[] = [];
  for await (const chunk of chunks) {
    const [first, ...rest] = (typeof chunk === "string" ? chunk : decoder.decode(chunk, { stream: true })).split("\n");
    pieces.push(first);
    for (const piece of rest) {
      yield pieces.join("");
      pieces = [piece];
    }
  }
  pieces.push(decoder.decode());
  const last = pieces.join("");
  if (last !== "") yield last;
}

function parseLine<Value>(
  line: string,
  number: number,
  parse: (value: unknown) => Value,
): { value: Value } | { error: LudusError } {
  try {
    return { value: parse(JSON.parse(line)) };
  } catch (cause) {
    const isOurs = cause instanceof LudusError;
    const reason = isOurs ? `${cause.details.got}` : errorText(cause);
    const expected = isOurs ? cause.details.expected : "JSON";
    return { error: new LudusError("bad-line", { got: `line ${number}: ${reason}`, expected, cause }) };
  }
}
