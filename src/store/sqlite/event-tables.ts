import { fromLosslessJson, type RunEvent, runEventFromJson, toLosslessJson } from "../../schema/index.ts";
import type { EventOptions, StoredEvent } from "../store.ts";
import type { Database } from "./database.ts";
import { checkedStep } from "./run-schema.ts";

export function recordEvent(database: Database, step: number, event: RunEvent, time: number): void {
  const insert = "INSERT INTO events(step, time, type, event) VALUES (?, ?, ?, ?)";
  database.run(insert, checkedStep(step), time, event.type, toLosslessJson(event));
}

export function events(database: Database, { after = 0, types, limit = -1 }: EventOptions): StoredEvent[] {
  const isWanted = types === undefined ? "" : `AND type IN (${types.map(() => "?").join()})`;
  const select = `SELECT id, step, time, event FROM events WHERE id > ? ${isWanted} ORDER BY id LIMIT ?`;
  return database.all(select, after, ...(types ?? []), limit).map((row) => ({
    order: row.number("id"),
    step: row.number("step"),
    time: row.number("time"),
    event: row.parsed("event", (text) => runEventFromJson(fromLosslessJson(text))),
  }));
}

export function truncateEvents(database: Database, step: number): void {
  database.run("DELETE FROM events WHERE step > ?", step);
}
