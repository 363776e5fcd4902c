import type { Trajectory } from "../../schema/index.ts";
import { decodeAdvantages, encodeAdvantages } from "../advantage-bytes.ts";
import { firstKey } from "../step-keys.ts";
import type { Database } from "./database.ts";
import { readStored } from "./sqlite-error.ts";

// Its own table: most trajectories of a long run are never looked at, and runs that were written
// before there was one have none.

const table = "CREATE TABLE IF NOT EXISTS trajectory_advantages(id INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT";

export function createAdvantages(database: Database): void {
  database.execute(table);
}

export function recordAdvantages(
  database: Database,
  key: number,
  { mask_T }: Trajectory,
  advantages_T: Float32Array,
): void {
  // Node 22 binds no bytes as NULL
  database.run(
    "INSERT INTO trajectory_advantages VALUES (?, ifnull(?, x''))",
    key,
    encodeAdvantages(mask_T, advantages_T),
  );
}

/** Undefined where nothing was learned from it, or the run is older than this table. */
export function advantages(database: Database, key: number, { mask_T }: Trajectory): Float32Array | undefined {
  if (!hasTable(database)) return undefined;
  const row = database.first("SELECT bytes FROM trajectory_advantages WHERE id = ?", key);
  if (row === undefined) return undefined;
  return readStored(database.file, `advantages of trajectory ${key}`, () =>
    decodeAdvantages(mask_T, row.bytes("bytes")),
  );
}

export function truncateAdvantages(database: Database, step: number): void {
  database.run("DELETE FROM trajectory_advantages WHERE id >= ?", firstKey(step + 1));
}

function hasTable(database: Database): boolean {
  return database.number("SELECT count(*) FROM sqlite_schema WHERE name = 'trajectory_advantages'") === 1;
}
