import { defined } from "../../defined.ts";
import { fromLosslessJson, type RunEvent, runEventFromJson, toLosslessJson } from "../../schema/index.ts";
import type { RunInfo } from "../run-catalog.ts";
import { isKeptOnce } from "../step-writes.ts";
import type { EventOptions, StoredEvent } from "../store.ts";
import { type Database, openReadable } from "./database.ts";
import { hasRun } from "./run-schema.ts";

export function recordEvent(database: Database, step: number, event: RunEvent, time: number): void {
  const text = toLosslessJson(event);
  if (isKeptOnce(event) && hasEvent(database, step, text)) return;
  database.run("INSERT INTO events(step, time, type, event) VALUES (?, ?, ?, ?)", step, time, event.type, text);
}

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

/** When a run began and how it ended, in one query: lists ask it of many runs. */
export function eventExtremes(file: string): Pick<RunInfo, "started" | "ended"> {
  const database = openReadable(file);
  try {
    if (!hasRun(database)) return {};
    const last = database.first(
      `SELECT (SELECT time FROM events ORDER BY id LIMIT 1) AS started, event FROM events ORDER BY id DESC LIMIT 1`,
    );
    if (last === undefined) return {};
    const event = last.parsed("event", (text) => runEventFromJson(fromLosslessJson(text)));
    // a run that went on after its end has later events
    const ended = event.type === "run-end" ? event.reason : undefined;
    return defined({ started: last.number("started"), ended });
  } finally {
    database.close();
  }
}

export function truncateEvents(database: Database, step: number): void {
  database.run("DELETE FROM events WHERE step > ? OR type = 'run-end'", step);
}
