import { fromLosslessJson } from "../../schema/index.ts";
import { storedJson } from "../step-writes.ts";
import type { Database } from "./database.ts";

export function setConfig(database: Database, config: unknown): void {
  const value = storedJson("the configuration", config);
  database.run("INSERT INTO config VALUES (0, ?) ON CONFLICT DO UPDATE SET value = excluded.value", value);
}

export function config(database: Database): unknown {
  return database.first("SELECT value FROM config")?.parsed("value", fromLosslessJson);
}

export function setState(database: Database, step: number, key: string, value: unknown): void {
  const upsert = "INSERT INTO state VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value";
  database.run(upsert, key, step, storedJson(`state "${key}"`, value));
}

export function state(database: Database, key: string): unknown {
  const newest = "SELECT value FROM state WHERE key = ? ORDER BY step DESC LIMIT 1";
  return database.first(newest, key)?.parsed("value", fromLosslessJson);
}

export function pruneState(database: Database, step: number): void {
  const isSuperseded = "step < (SELECT max(step) FROM state AS newer WHERE newer.key = state.key AND newer.step <= ?)";
  database.run(`DELETE FROM state WHERE ${isSuperseded}`, step);
}

export function truncateState(database: Database, step: number): void {
  database.run("DELETE FROM state WHERE step > ?", step);
}
