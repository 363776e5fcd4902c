import { createHash } from "node:crypto";
import { canonicalJson, type JsonValue } from "./json-value.ts";

/** SHA-256 of a database as canonical JSON, in hexadecimal: the same for any order of keys, not of list members. */
export function databaseHash(database: JsonValue): string {
  return createHash("sha256").update(canonicalJson(database)).digest("hex");
}

export interface TauBenchEpisode {
  database: JsonValue;
  /** The database after the gold actions on a fresh copy. */
  goldDatabase: JsonValue;
  /** Strings that the user must have been told. */
  requiredOutputs: readonly string[];
  /** What the agent said to the user. */
  responses: readonly string[];
}

/**
 * τ-bench: 1 where the databases are equal and every required output occurs in some response, else 0. Case and commas do
 * not count. The published code leaves commas in the required output, which could then never be met; here neither has them.
 */
export function tauBenchScore({ database, goldDatabase, requiredOutputs, responses }: TauBenchEpisode): number {
  if (databaseHash(database) !== databaseHash(goldDatabase)) return 0;
  const plain = (text: string) => text.toLowerCase().replaceAll(",", "");
  const said = responses.map(plain);
  return requiredOutputs.every((output) => said.some((text) => text.includes(plain(output)))) ? 1 : 0;
}
