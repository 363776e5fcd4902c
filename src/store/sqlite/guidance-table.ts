import type { Trajectory } from "../../schema/index.ts";
import { firstKey } from "../step-keys.ts";
import type { Database } from "./database.ts";

// Which trajectories had a hint. Its own table: most have none, and runs that were written before there was one have none.

const table = "CREATE TABLE IF NOT EXISTS trajectory_guidance(id INTEGER PRIMARY KEY, kind TEXT NOT NULL) STRICT";

export function createGuidance(database: Database): void {
  database.execute(table);
}

export function recordGuidance(database: Database, key: number, { guidance }: Trajectory): void {
  if (guidance !== undefined) database.run("INSERT INTO trajectory_guidance VALUES (?, ?)", key, guidance.kind);
}

/** What finds the kind of hint of each trajectory. */
export function guidanceKinds(database: Database): (key: number) => string | undefined {
  if (!hasGuidance(database)) return () => undefined;
  return (key) => database.first("SELECT kind FROM trajectory_guidance WHERE id = ?", key)?.text("kind");
}

/** Whether the run is no older than this table. */
export function hasGuidance(database: Database): boolean {
  return database.number("SELECT count(*) FROM sqlite_schema WHERE name = 'trajectory_guidance'") === 1;
}

export function truncateGuidance(database: Database, step: number): void {
  database.run("DELETE FROM trajectory_guidance WHERE id >= ?", firstKey(step + 1));
}
