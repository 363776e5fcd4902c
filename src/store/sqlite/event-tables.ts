import { fromLosslessJson, type RunEvent, runEventFromJson, toLosslessJson } from "../../schema/index.ts";
import type { EventOptions, StoredEvent } from "../store.ts";
import type { Database } from "./database.ts";

export function recordEvent(database: Database, step: number, event: RunEvent, time: number): void {
  const text = toLosslessJson(event);
  if (event.type === "eval-end" && hasEvent(database, step, text)) return;
  database.run("INSERT INTO events(step, time, type, event) VALUES (?, ?, ?, ?)", step, time, event.type, text);
}

/** A run that was killed after an evaluation makes the same one again when it is resumed. */
function hasEvent(database: Database, step: number, text: string): boolean {
  return database.number("SELECT count(*) FROM events WHERE step = ? AND event = ?", step, text) > 0;
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
  database.run("DELETE FROM events WHERE step > ? OR type = 'run-end'", step);
}
