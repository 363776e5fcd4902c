import { LudusError } from "../../errors.ts";
import type { Query } from "./query.ts";

/** Raised when the tables change; newer ones are refused, never guessed at. */
const schemaVersion = 1;

/** The lock of whoever makes tables. */
const makersLock = 0x4c554453;

/** The first number of the advisory locks on runs; the second is the run's id. */
export const lockClass = "'runs'::regclass::oid";

const run = "run integer NOT NULL REFERENCES runs ON DELETE CASCADE";

// What lists show is apart from the trajectories' bytes. Texts that a policy or a task may make long are indexed by their hash:
// a row of an index holds 2.7 kB at most.
const tables = `
  CREATE TABLE ludus_version(version integer NOT NULL);
  CREATE TABLE runs(
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text COLLATE "C" NOT NULL UNIQUE, search text NOT NULL,
    owner text NOT NULL DEFAULT current_user, changed float8 NOT NULL, config text,
    version bigint NOT NULL DEFAULT 0, writer bigint NOT NULL DEFAULT 0,
    holder_pid integer, holder_host text, holder_since float8, holder_backend integer);
  CREATE INDEX runs_changed ON runs(changed DESC, name);

  CREATE TABLE metrics(${run}, name text COLLATE "C" NOT NULL, step bigint NOT NULL, value float8, PRIMARY KEY (run, name, step));
  CREATE INDEX metrics_step ON metrics(run, step);
  CREATE TABLE events(
    ${run}, id bigint NOT NULL, step bigint NOT NULL, time float8 NOT NULL, type text NOT NULL, event text NOT NULL,
    PRIMARY KEY (run, id));
  CREATE INDEX events_step ON events(run, step);
  CREATE INDEX events_type ON events(run, type, id);
  CREATE TABLE state(${run}, key text NOT NULL, step bigint NOT NULL, value text NOT NULL, PRIMARY KEY (run, key, step));
  CREATE INDEX state_step ON state(run, step);

  CREATE TABLE groups(
    ${run}, id bigint NOT NULL, split text NOT NULL, task_id text NOT NULL, task text NOT NULL, PRIMARY KEY (run, id));
  CREATE TABLE trajectories(
    ${run}, id bigint NOT NULL, group_id bigint NOT NULL, split text NOT NULL, name text NOT NULL, task_id text NOT NULL,
    rollout text NOT NULL, role text NOT NULL, stop text NOT NULL, reward float8, success boolean NOT NULL,
    turns integer NOT NULL, tokens integer NOT NULL, weight float8 NOT NULL, tools text NOT NULL, annotations text,
    PRIMARY KEY (run, id));
  CREATE INDEX trajectories_group ON trajectories(run, group_id);
  CREATE INDEX trajectories_rollout ON trajectories(run, md5(rollout), id);
  CREATE INDEX trajectories_task ON trajectories(run, md5(task_id), id);
  CREATE INDEX trajectories_stop ON trajectories(run, stop, id);
  CREATE INDEX trajectories_success ON trajectories(run, success, id);
  CREATE INDEX trajectories_reward ON trajectories(run, reward);
  CREATE TABLE trajectory_bytes(${run}, id bigint NOT NULL, bytes bytea NOT NULL, advantages bytea, PRIMARY KEY (run, id));
  ALTER TABLE trajectory_bytes ALTER bytes SET STORAGE EXTERNAL;
  CREATE TABLE trajectory_words(
    ${run}, id bigint NOT NULL, words text NOT NULL, terms text[] NOT NULL, PRIMARY KEY (run, id));
  CREATE INDEX trajectory_terms ON trajectory_words USING gin(terms);

  CREATE TABLE jobs(
    run text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, world text NOT NULL, spec text NOT NULL, samplers text NOT NULL,
    place bigint GENERATED ALWAYS AS IDENTITY, state text NOT NULL DEFAULT 'waiting', tries integer NOT NULL DEFAULT 0,
    worker text, token bigint, expires timestamptz, finished timestamptz, result bytea, failure text, PRIMARY KEY (run, id));
  ALTER TABLE jobs ALTER result SET STORAGE EXTERNAL;
  CREATE INDEX jobs_waiting ON jobs(place) WHERE state = 'waiting';
  CREATE INDEX jobs_leased ON jobs(expires) WHERE state = 'leased';
  CREATE INDEX jobs_finished ON jobs(finished) WHERE state IN ('finished', 'failed');
  CREATE SEQUENCE lease_tokens;
  CREATE TABLE documents(id text PRIMARY KEY, content text NOT NULL);
  CREATE TABLE members(
    name text PRIMARY KEY, kind text NOT NULL, run text, host text NOT NULL, pid integer NOT NULL, details text NOT NULL,
    started timestamptz NOT NULL DEFAULT now(), seen timestamptz NOT NULL DEFAULT now(), groups bigint NOT NULL DEFAULT 0);
`;

/** Whether the tables are there; throws when they are not those that this Ludus knows. */
export async function hasSchema(query: Query, schema: string, server: string): Promise<boolean> {
  const [found] = await query("SELECT to_regclass($1) IS NOT NULL AS there", [`${schema}.ludus_version`]);
  if (found?.there !== true) return false;
  const [row] = await query("SELECT version FROM ludus_version");
  if (row?.version === schemaVersion) return true;
  throw new LudusError("store-newer", {
    got: `tables of version ${String(row?.version)} in schema ${schema} of ${server}`,
    expected: `version ${schemaVersion}`,
    hint: "Another version of Ludus made them: update with npm install ludus@latest.",
  });
}

/** In a transaction: of several that begin at once, one makes the tables. */
export async function createSchema(query: Query, schema: string): Promise<void> {
  await query("SELECT pg_advisory_xact_lock($1, 0)", [makersLock]);
  const [found] = await query("SELECT to_regclass($1) IS NOT NULL AS there", [`${schema}.ludus_version`]);
  if (found?.there === true) return;
  await query(`CREATE SCHEMA IF NOT EXISTS ${schema}`);
  await query(tables);
  await query("INSERT INTO ludus_version VALUES ($1)", [schemaVersion]);
}
