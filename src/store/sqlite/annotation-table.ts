import type { Trajectory } from "../../schema/index.ts";
import { annotationKindsOf } from "../annotation-kinds.ts";
import { firstKey } from "../step-keys.ts";
import type { Database } from "./database.ts";
import { annotationTable } from "./run-schema.ts";

// Names of what was recorded with turns, and the `kind` of each where it has one: of the first turn that has the name.

// what runs have that were written before annotations: nothing, or a table of the hints alone
const earlierHints = "SELECT 'hint' AS name, id, kind FROM trajectory_guidance";
const nothing = "SELECT '' AS name, 0 AS id, '' AS kind WHERE 0";

/** Gives a run that was begun without the table one, with the hints it has. */
export function createAnnotations(database: Database): void {
  if (hasTable(database, "trajectory_annotations")) return;
  database.transaction(() => {
    database.execute(annotationTable);
    if (hasTable(database, "trajectory_guidance")) {
      database.execute(`INSERT INTO trajectory_annotations ${earlierHints}`);
    }
  });
}

/** Lets a reader ask a run that has no such table as if it had one. Nothing is written to the file. */
export function viewAnnotations(database: Database): void {
  if (hasTable(database, "trajectory_annotations")) return;
  const rows = hasTable(database, "trajectory_guidance") ? earlierHints : nothing;
  database.execute(`CREATE TEMP VIEW trajectory_annotations AS ${rows}`);
}

function hasTable(database: Database, name: string): boolean {
  return database.number("SELECT count(*) FROM sqlite_schema WHERE name = ?", name) === 1;
}

export function recordAnnotations(database: Database, key: number, trajectory: Trajectory): void {
  for (const [name, kind] of annotationKindsOf(trajectory)) {
    database.run("INSERT INTO trajectory_annotations VALUES (?, ?, ?)", name, key, kind);
  }
}

/** By name, the kinds of a trajectory's annotations; undefined where it has none. */
export function annotationKinds(database: Database, key: number): Readonly<Record<string, string>> | undefined {
  const rows = database.all("SELECT name, kind FROM trajectory_annotations WHERE id = ? ORDER BY name", key);
  if (rows.length === 0) return undefined;
  return Object.fromEntries(rows.map((row) => [row.text("name"), row.text("kind")]));
}

export function truncateAnnotations(database: Database, step: number): void {
  database.run("DELETE FROM trajectory_annotations WHERE id >= ?", firstKey(step + 1));
}
