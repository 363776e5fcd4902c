import { LudusError } from "../../errors.ts";
import { fromLosslessJson, toLosslessJson } from "../../schema/index.ts";
import type { Database } from "./database.ts";
import { checkedStep } from "./run-schema.ts";

export function setConfig(database: Database, config: unknown): void {
  const value = asJson("the configuration", config);
  database.run("INSERT INTO config VALUES (0, ?) ON CONFLICT DO UPDATE SET value = excluded.value", value);
}

export function config(database: Database): unknown {
  return database.first("SELECT value FROM config")?.parsed("value", fromLosslessJson);
}

export function setState(database: Database, step: number, key: string, value: unknown): void {
  const upsert = "INSERT INTO state VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value";
  database.run(upsert, key, checkedStep(step), asJson(`state "${key}"`, value));
}

export function state(database: Database, key: string): unknown {
  const newest = "SELECT value FROM state WHERE key = ? ORDER BY step DESC LIMIT 1";
  return database.first(newest, key)?.parsed("value", fromLosslessJson);
}

export function pruneState(database: Database, step: number): void {
  const isSuperseded = "step < (SELECT max(step) FROM state AS newer WHERE newer.key = state.key AND newer.step <= ?)";
  database.run(`DELETE FROM state WHERE ${isSuperseded}`, checkedStep(step));
}

export function truncateState(database: Database, step: number): void {
  database.run("DELETE FROM state WHERE step > ?", step);
}

function asJson(what: string, value: unknown): string {
  const text: string | undefined = toLosslessJson(value);
  if (text !== undefined) return text;
  throw new LudusError("bad-state", {
    got: `${what} = ${typeof value}`,
    expected: "what JSON can hold; null for nothing",
  });
}
