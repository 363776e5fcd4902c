import { errorText, LudusError } from "../../errors.ts";
import type { Row } from "./query.ts";

/** Text as PostgreSQL can hold it: it has no NUL, and lone surrogates are one character to UTF-8. */
export function plain(text: string): string {
  return text.replaceAll("\0", "\ufffd").toWellFormed();
}

/** A number as text: the driver would lose the sign of -0. NaN is kept as nothing, so that it is in no range and no mean. */
export function real(value: number): string | null {
  if (Number.isNaN(value)) return null;
  return Object.is(value, -0) ? "-0" : String(value);
}

export function numberIn(row: Row, column: string): number {
  const value = row[column];
  if (typeof value === "number") return value;
  return value === null ? Number.NaN : damaged(column, `it holds ${typeof value}`);
}

export function textIn(row: Row, column: string): string {
  const value = row[column];
  return typeof value === "string" ? value : damaged(column, `it holds ${value === null ? "nothing" : typeof value}`);
}

export function bytesIn(row: Row, column: string): Uint8Array {
  const value = row[column];
  if (!(value instanceof Uint8Array)) return damaged(column, `it holds ${value === null ? "nothing" : typeof value}`);
  return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
}

/** What was kept in a column, made into what it stands for. */
export function parsedIn<Value>(row: Row, column: string, parse: (text: string) => Value): Value {
  return readStored(column, () => parse(textIn(row, column)));
}

export function readStored<Value>(what: string, read: () => Value): Value {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof LudusError && cause.code === "store-corrupt") throw cause;
    return damaged(what, errorText(cause), cause);
  }
}

function damaged(what: string, reason: string, cause?: unknown): never {
  throw new LudusError("store-corrupt", {
    got: `${what} that cannot be read (${reason})`,
    expected: "the run as it was written",
    hint: "Did another program change the tables? Restore the database from a backup.",
    cause,
  });
}
