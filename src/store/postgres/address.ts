import { LudusError } from "../../errors.ts";

/** A server and a database on it. `shown` is for people: it has no password. */
export interface Address {
  readonly shown: string;
  readonly url: string;
  readonly password: string | undefined;
}

const scheme = /^postgres(?:ql)?:\/\//i;

export function isPostgresAddress(text: string): boolean {
  return scheme.test(text);
}

/** Passwords of addresses that were shortened by `withoutPassword`, for as long as the process runs. */
const remembered = new Map<string, string>();

export function parseAddress(text: string): Address {
  let url: URL;
  try {
    if (!isPostgresAddress(text)) throw new TypeError("another scheme");
    url = new URL(text);
  } catch {
    // the text is not repeated: it may have a password in it
    throw new LudusError("bad-postgres-address", {
      got: `an address that cannot be read, beginning with "${text.slice(0, 8)}"`,
      expected: "postgres://user@host:5432/database",
      hint: "Characters such as # / ? @ in a password have to be written as %23 %2F %3F %40; or leave the password to PGPASSWORD.",
    });
  }
  const inQuery = url.searchParams.get("password") ?? undefined;
  url.searchParams.delete("password");
  const inUrl = url.password === "" ? undefined : decodeURIComponent(url.password);
  url.password = "";
  url.hash = "";
  const shown = url.href;
  return { shown, url: shown, password: inUrl ?? inQuery ?? remembered.get(shown) };
}

/** The same address for anyone to see; this process still logs in with the password that it had. A run's id behind `#` stays. */
export function withoutPassword(text: string): string {
  const { shown, password } = parseAddress(text);
  if (password !== undefined) remembered.set(shown, password);
  const hash = text.indexOf("#");
  return hash < 0 ? shown : `${shown}${text.slice(hash)}`;
}
