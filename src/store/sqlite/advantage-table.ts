import type { Trajectory } from "../../schema/index.ts";
import { firstKey } from "../step-keys.ts";
import type { Database } from "./database.ts";
import { readStored } from "./sqlite-error.ts";

// T tokens, S sampled ones. Its own table: most trajectories of a long run are never looked at, and runs that were written
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
  database.run("INSERT INTO trajectory_advantages VALUES (?, ifnull(?, x''))", key, encoded(mask_T, advantages_T));
}

/** Undefined where nothing was learned from it, or the run is older than this table. */
export function advantages(database: Database, key: number, { mask_T }: Trajectory): Float32Array | undefined {
  if (!hasTable(database)) return undefined;
  const row = database.first("SELECT bytes FROM trajectory_advantages WHERE id = ?", key);
  if (row === undefined) return undefined;
  return readStored(database.file, `advantages of trajectory ${key}`, () => decoded(mask_T, row.bytes("bytes")));
}

export function truncateAdvantages(database: Database, step: number): void {
  database.run("DELETE FROM trajectory_advantages WHERE id >= ?", firstKey(step + 1));
}

function hasTable(database: Database): boolean {
  return database.number("SELECT count(*) FROM sqlite_schema WHERE name = 'trajectory_advantages'") === 1;
}

/** Those of sampled tokens; one number where all are the same, as in schemes that credit whole episodes. */
function encoded(mask_T: Uint8Array, advantages_T: Float32Array): Uint8Array {
  const advantages_S = advantages_T.filter((_, t) => mask_T[t] === 1);
  const isFlat = advantages_S.every((advantage) => Object.is(advantage, advantages_S[0]));
  const written = isFlat ? advantages_S.subarray(0, 1) : advantages_S;
  const view = new DataView(new ArrayBuffer(4 * written.length));
  for (const [s, advantage] of written.entries()) view.setFloat32(4 * s, advantage, true);
  return new Uint8Array(view.buffer);
}

function decoded(mask_T: Uint8Array, bytes: Uint8Array): Float32Array {
  const S = mask_T.reduce((sum, m) => sum + m, 0);
  const count = bytes.length / 4;
  if (count !== S && !(count === 1 && S > 1)) throw new TypeError(`${bytes.length} bytes for ${S} tokens`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const advantages_T = new Float32Array(mask_T.length);
  let s = 0;
  for (let t = 0; t < mask_T.length; t++) {
    if (mask_T[t] === 1) advantages_T[t] = view.getFloat32(count === 1 ? 0 : 4 * s++, true);
  }
  return advantages_T;
}
