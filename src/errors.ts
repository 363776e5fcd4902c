import { bounds } from "./bounds.ts";
import { cutText } from "./cut-text.ts";
import { redact } from "./redact.ts";

/** What an error carries besides its code: the value, the expectation and the remedy. */
export interface ErrorDetails {
  got: string;
  expected: string;
  hint?: string;
  cause?: unknown;
}

/**
 * The one error class. `code` is stable and safe to switch on; the message is for people and may change.
 *
 *     throw new LudusError("token-out-of-range", {
 *       got: "token 300 at row 2, position 7",
 *       expected: "0 <= token < 259",
 *       hint: "Was the row made with another tokenizer?",
 *     });
 */
export class LudusError extends Error {
  override readonly name = "LudusError";
  readonly code: string;
  readonly details: ErrorDetails;

  constructor(code: string, details: ErrorDetails) {
    const hint = details.hint === undefined ? "" : ` ${details.hint}`;
    super(`${code}: got ${details.got}, expected ${details.expected}.${hint}`, { cause: details.cause });
    this.code = code;
    this.details = details;
  }
}

/** What an error says, whatever was thrown, without the secrets in it: texts of errors are stored and shown. */
export function errorText(error: unknown): string {
  return redact(read(error, ({ message }) => message));
}

/** The same with the stack, where there is one. */
export function errorStack(error: unknown): string {
  return redact(read(error, ({ stack, message }) => stack ?? message));
}

/** What is kept of a failure's text: without secrets, at most `bounds.failureText` characters, beginning and end. */
export function failureText(text: string): string {
  return cutText(redact(text), bounds.failureText);
}

/** Getters of what was thrown may throw themselves, and an object without a prototype has no toString. */
function read(thrown: unknown, part: (error: Error) => string): string {
  try {
    return String(thrown instanceof Error ? part(thrown) : thrown);
  } catch {
    return "something that cannot be shown was thrown";
  }
}
