import { LudusError } from "../../errors.ts";
import { keyBits } from "../step-keys.ts";
import type { Database } from "./database.ts";

/** Raised when the tables change; a newer file is refused, never guessed at. */
const schemaVersion = 1;

/** "LUDS": tells a run from any other SQLite file. */
const applicationId = 0x4c554453;

export const annotationTable = `
  CREATE TABLE trajectory_annotations(
    name TEXT NOT NULL, id INTEGER NOT NULL, kind TEXT NOT NULL,
    PRIMARY KEY (name, id)) STRICT, WITHOUT ROWID;
  CREATE INDEX trajectory_annotations_id ON trajectory_annotations(id);
`;

// What lists show is apart from the trajectories' bytes, so that a page of a list touches few pages of the file.
const tables = `
  CREATE TABLE metric_names(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
  CREATE TABLE metrics(
    name_id INTEGER NOT NULL, step INTEGER NOT NULL, value REAL,
    PRIMARY KEY (name_id, step)) STRICT, WITHOUT ROWID;
  CREATE INDEX metrics_step ON metrics(step);

  CREATE TABLE events(
    id INTEGER PRIMARY KEY, step INTEGER NOT NULL, time REAL NOT NULL, type TEXT NOT NULL, event TEXT NOT NULL) STRICT;
  CREATE INDEX events_step ON events(step);
  CREATE INDEX events_type ON events(type);

  CREATE TABLE groups(
    id INTEGER PRIMARY KEY, step INTEGER AS (id >> ${keyBits}),
    split TEXT NOT NULL, task_id TEXT NOT NULL, task TEXT NOT NULL) STRICT;
  CREATE TABLE trajectories(
    id INTEGER PRIMARY KEY, step INTEGER AS (id >> ${keyBits}),
    group_id INTEGER NOT NULL, split TEXT NOT NULL, name TEXT NOT NULL, task_id TEXT NOT NULL, rollout TEXT NOT NULL,
    role TEXT NOT NULL, stop TEXT NOT NULL, reward REAL, success INTEGER NOT NULL, turns INTEGER NOT NULL,
    tokens INTEGER NOT NULL, weight REAL NOT NULL, tools TEXT NOT NULL) STRICT;
  CREATE INDEX trajectories_group ON trajectories(group_id);
  CREATE INDEX trajectories_rollout ON trajectories(rollout);
  CREATE INDEX trajectories_task ON trajectories(task_id);
  CREATE INDEX trajectories_stop ON trajectories(stop);
  CREATE INDEX trajectories_success ON trajectories(success);
  CREATE INDEX trajectories_split ON trajectories(split);
  CREATE INDEX trajectories_reward ON trajectories(reward);
  CREATE TABLE trajectory_tools(
    tool TEXT NOT NULL, trajectory_id INTEGER NOT NULL,
    PRIMARY KEY (tool, trajectory_id)) STRICT, WITHOUT ROWID;
  ${annotationTable}
  CREATE TABLE trajectory_bytes(id INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
  CREATE VIRTUAL TABLE search USING fts5(text, content='', contentless_delete=1);

  CREATE TABLE state(
    key TEXT NOT NULL, step INTEGER NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (key, step)) STRICT, WITHOUT ROWID;
  CREATE INDEX state_step ON state(step);
  CREATE TABLE config(id INTEGER PRIMARY KEY CHECK (id = 0), value TEXT NOT NULL) STRICT;

  PRAGMA application_id = ${applicationId};
  PRAGMA user_version = ${schemaVersion};
`;

/** Whether the file has tables; throws when they are not those of a run this Ludus knows. */
export function hasRun(database: Database): boolean {
  if (database.number("SELECT count(*) FROM sqlite_schema") === 0) return false;
  if (database.number("PRAGMA application_id") !== applicationId) {
    throw new LudusError("store-foreign", {
      got: `${database.file}, a database of another program`,
      expected: "a run, or no file yet",
      hint: "Choose another folder for the run.",
    });
  }
  const version = database.number("PRAGMA user_version");
  if (version > schemaVersion) {
    throw new LudusError("store-newer", {
      got: `${database.file} of version ${version}`,
      expected: `version ${schemaVersion} at most`,
      hint: "A newer Ludus wrote it: update with npm install ludus@latest.",
    });
  }
  return true;
}

export function createRun(database: Database): void {
  database.transaction(() => database.execute(tables));
}
