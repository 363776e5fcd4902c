import { type ErrorDetails, LudusError } from "../../errors.ts";
import { redact } from "../../redact.ts";
import type { Address } from "./address.ts";

type Explanation = Omit<ErrorDetails, "cause"> & { code: string };

function codeOf(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : "";
}

const unreachable = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ETIMEDOUT",
  "ENOENT",
  "EAI_AGAIN",
]);
const cut = new Set(["ECONNRESET", "EPIPE", "57P01", "57P02", "57P03", "25P03"]);
// pg gives these no code
const cutText = /connection (?:terminated|ended|closed)|timeout (?:expired|exceeded)|not queryable|socket/i;

/** Whether the connection failed, not the statement: the server may be back soon. */
export function isConnectionError(error: unknown): boolean {
  if (error instanceof LudusError) return isConnectionError(error.cause);
  if (error instanceof AggregateError) return error.errors.some(isConnectionError);
  const code = codeOf(error);
  if (unreachable.has(code) || cut.has(code) || code.startsWith("08")) return true;
  return code === "" && error instanceof Error && cutText.test(error.message);
}

function explain(code: string, server: string, message: string): Explanation {
  if (code === "28P01" || code === "28000") {
    return {
      code: "store-login",
      got: `${server}, which refused the login: ${message}`,
      expected: "a user and password that it knows",
      hint: "Set PGPASSWORD, or put user and password into the address: postgres://user:password@host/database.",
    };
  }
  if (code === "3D000") {
    return {
      code: "store-missing",
      got: `${server}: ${message}`,
      expected: "a database that exists",
      hint: "createdb makes one.",
    };
  }
  if (code === "53100" || code === "53200" || code === "54000") {
    return {
      code: "store-full",
      got: `${server}: ${message}`,
      expected: "room for more on the server",
      hint: "Nothing of the failed transaction was kept, all before it was. Free some space, then resume.",
    };
  }
  if (code === "53300") {
    return {
      code: "store-busy",
      got: `${server}: ${message}`,
      expected: "a free connection",
      hint: "Raise max_connections, or let workers share a process: ludus worker --parallel.",
    };
  }
  if (code === "42501" || code === "25006") {
    return { code: "store-read-only", got: `${server}: ${message}`, expected: "a user that may write there" };
  }
  return { code: "store-failed", got: `${server}: ${message}`, expected: "a statement that the server can run" };
}

/** What `pg` throws, as ours: it names the server, never the password. */
export function explained({ shown, password = "" }: Address, cause: unknown): unknown {
  if (cause instanceof LudusError) return cause;
  const first: unknown = cause instanceof AggregateError ? cause.errors[0] : cause;
  const text = first instanceof Error ? first.message : String(first);
  const message = redact(text, { password });
  if (isConnectionError(cause)) {
    return new LudusError("store-unreachable", {
      got: `${shown}: ${message}`,
      expected: "a PostgreSQL server that answers",
      hint: "Is it running, and reachable from here? Try: psql with the same address.",
      cause,
    });
  }
  const { code, ...details } = explain(codeOf(first), shown, message);
  return new LudusError(code, { ...details, cause });
}
