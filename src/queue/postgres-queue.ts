import { hostname } from "node:os";
import { z } from "zod";
import { defined } from "../defined.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import type { Row } from "../store/postgres/query.ts";
import { PostgresServer } from "../store/postgres/server.ts";
import { bytesIn, numberIn, plain, readStored, textIn } from "../store/postgres/values.ts";
import { type JobQueue, type LeasedJob, type Member, maxTries, type QueueStatus } from "./queue.ts";

export interface PostgresQueueOptions {
  /** The schema of the tables, `ludus` by default. */
  schema: string;
  /** Milliseconds for which a connection that was cut is tried again; 30 s by default. */
  retryMs: number;
  maxConnections: number;
  /** Milliseconds between two looks for leases that have expired; 1 s by default. */
  expiredMs: number;
}

const knownPostgresQueueOptions: KnownOptions<PostgresQueueOptions> = {
  schema: true,
  retryMs: true,
  maxConnections: true,
  expiredMs: true,
};
const defaults: PostgresQueueOptions = { schema: "ludus", retryMs: 30_000, maxConnections: 4, expiredMs: 1000 };

/**
 * A queue of jobs on the PostgreSQL server that has the runs. Statements may be lost with a crash of the server (`synchronous_commit`
 * is off): a job whose result was lost is leased once more, so nothing is missing and nothing is there twice.
 */
export async function postgresQueue(url: string, options: Partial<PostgresQueueOptions> = {}): Promise<JobQueue> {
  refuseUnknownOptions("postgresQueue", options, knownPostgresQueueOptions);
  const { expiredMs, ...rest } = { ...defaults, ...options };
  const server = new PostgresServer(url, { ...rest, settings: { synchronous_commit: "off" } });
  await server.prepare();
  return {
    ...trainerSide(server),
    ...workerSide(server, expiredMs),
    ...membership(server),
    close: () => server.close(),
  };
}

type TrainerSide = Pick<JobQueue, "offer" | "collect" | "forget" | "publish" | "document">;

function trainerSide(server: PostgresServer): TrainerSide {
  return {
    async offer(run, jobs, samplers) {
      await server.query(
        `INSERT INTO jobs(run, id, world, spec, samplers)
         SELECT $1, id, world, spec, $5 FROM unnest($2::text[], $3::text[], $4::text[]) AS j(id, world, spec)
         ON CONFLICT (run, id) DO UPDATE SET samplers = excluded.samplers,
           state = CASE jobs.state WHEN 'failed' THEN 'waiting' ELSE jobs.state END,
           tries = CASE jobs.state WHEN 'failed' THEN 0 ELSE jobs.tries END
         WHERE jobs.state <> 'finished'`,
        [
          run,
          jobs.map(({ id }) => id),
          jobs.map(({ world }) => world),
          jobs.map(({ spec }) => spec),
          JSON.stringify(samplers),
        ],
      );
    },
    async collect(run, ids) {
      const rows = await server.query(
        "SELECT id, state, result, failure FROM jobs WHERE run = $1 AND id = ANY($2::text[]) AND state IN ('finished', 'failed')",
        [run, ids],
      );
      return rows.map((row) => ({
        id: textIn(row, "id"),
        ...(row.state === "finished" ? { result: bytesIn(row, "result") } : { failure: textIn(row, "failure") }),
      }));
    },
    async forget(run, ids) {
      await server.query("DELETE FROM jobs WHERE run = $1 AND id = ANY($2::text[])", [run, ids]);
    },
    async publish(id, content) {
      await server.query("INSERT INTO documents VALUES ($1, $2) ON CONFLICT DO NOTHING", [id, content]);
    },
    async document(id) {
      const [row] = await server.query("SELECT content FROM documents WHERE id = $1", [id]);
      return row === undefined ? undefined : textIn(row, "content");
    },
  };
}

type WorkerSide = Pick<JobQueue, "take" | "renew" | "finish" | "release">;

const interval = (place: string) => `now() + ${place} * interval '1 millisecond'`;

function workerSide(server: PostgresServer, expiredMs: number): WorkerSide {
  let looked = Number.NEGATIVE_INFINITY;
  const lease = async (worker: string, condition: string, values: readonly unknown[]) => {
    const rows = await server.query(
      `UPDATE jobs j SET state = 'leased', worker = $1, token = nextval('lease_tokens'), tries = tries + 1, expires = ${interval("$2")}
       FROM (SELECT run, id FROM jobs WHERE ${condition} AND world = ANY($3::text[]) ORDER BY place LIMIT $4 FOR UPDATE SKIP LOCKED) next
       WHERE j.run = next.run AND j.id = next.id RETURNING j.run, j.id, j.world, j.spec, j.samplers, j.token`,
      [worker, ...values],
    );
    return rows.map(leasedJob);
  };
  return {
    async take(worker, { worlds, count, leaseMs }) {
      const waiting = await lease(worker, "state = 'waiting'", [leaseMs, worlds, count]);
      if (waiting.length === count || performance.now() - looked < expiredMs) return waiting;
      looked = performance.now();
      await failLost(server);
      const expired = await lease(worker, "state = 'leased' AND expires < now()", [
        leaseMs,
        worlds,
        count - waiting.length,
      ]);
      return [...waiting, ...expired];
    },
    async renew(jobs, leaseMs) {
      const rows = await server.query(
        `UPDATE jobs j SET expires = ${interval("$4")} FROM unnest($1::text[], $2::text[], $3::bigint[]) AS l(run, id, token)
         WHERE j.run = l.run AND j.id = l.id AND j.token = l.token AND j.state = 'leased' RETURNING j.token`,
        [jobs.map(({ run }) => run), jobs.map(({ id }) => id), jobs.map(({ token }) => token), leaseMs],
      );
      const ours = new Set(rows.map((row) => numberIn(row, "token")));
      return jobs.filter(({ token }) => ours.has(token));
    },
    async finish({ run, id }, result) {
      // a late result of an expired lease is as good as any: the job says all that is to be done
      const rows = await server.query(
        `UPDATE jobs SET state = 'finished', finished = now(), result = $3
         WHERE run = $1 AND id = $2 AND state IN ('waiting', 'leased') RETURNING 1 AS done`,
        [run, id, Buffer.from(result.buffer, result.byteOffset, result.byteLength)],
      );
      return rows.length > 0;
    },
    async release({ token, run, id }, failure) {
      await server.query(
        `UPDATE jobs SET token = NULL, worker = NULL, failure = $4, finished = now(),
           tries = tries - CASE WHEN $4::text IS NULL THEN 1 ELSE 0 END,
           state = CASE WHEN $4::text IS NOT NULL AND tries >= $5 THEN 'failed' ELSE 'waiting' END
         WHERE run = $1 AND id = $2 AND token = $3 AND state = 'leased'`,
        [run, id, token, failure === undefined ? null : plain(failure), maxTries],
      );
    },
  };
}

/** A job that was lost with its worker again and again may be what ends them. */
async function failLost(server: PostgresServer): Promise<void> {
  await server.query(
    `UPDATE jobs SET state = 'failed', finished = now(), failure = coalesce(failure, 'its worker was gone each time; the last was ' || worker)
     WHERE state = 'leased' AND expires < now() AND tries >= $1`,
    [maxTries],
  );
}

const Samplers = z.array(
  z.object({
    url: z.string(),
    key: z.string().exactOptional(),
    model: z.string().exactOptional(),
    processedLogprobs: z.boolean().exactOptional(),
  }),
);

function leasedJob(row: Row): LeasedJob {
  return {
    run: textIn(row, "run"),
    id: textIn(row, "id"),
    world: textIn(row, "world"),
    spec: textIn(row, "spec"),
    samplers: readStored("samplers", () => Samplers.parse(JSON.parse(textIn(row, "samplers")))),
    token: numberIn(row, "token"),
  };
}

type Membership = Pick<JobQueue, "beat" | "leave" | "status">;

/** Members that were not heard of for so long are forgotten. */
const forgottenSeconds = 600;
const rateSeconds = 10;

function membership(server: PostgresServer): Membership {
  return {
    async beat({ name, kind, run, details, groups }) {
      await server.query(
        `INSERT INTO members(name, kind, run, host, pid, details, groups) VALUES ($1, $2, $3, $4, $5, $6, $7)
         ON CONFLICT (name) DO UPDATE SET seen = now(), details = excluded.details, groups = excluded.groups, run = excluded.run`,
        [name, kind, run ?? null, hostname(), process.pid, plain(details), groups],
      );
    },
    async leave(name) {
      await server.query("DELETE FROM members WHERE name = $1 OR seen < now() - $2 * interval '1 second'", [
        name,
        forgottenSeconds,
      ]);
    },
    async status() {
      const members = await server.query(
        `SELECT name, kind, run, host, pid, details, groups, extract(epoch FROM now() - started)::float8 AS age,
           extract(epoch FROM now() - seen)::float8 AS silent FROM members
         WHERE seen >= now() - $1 * interval '1 second' ORDER BY kind, name`,
        [forgottenSeconds],
      );
      const runs = await server.query(
        `SELECT run, count(*) FILTER (WHERE state = 'waiting') AS waiting, count(*) FILTER (WHERE state = 'leased') AS leased,
           count(*) FILTER (WHERE state = 'finished') AS finished, count(*) FILTER (WHERE state = 'failed') AS failed,
           count(*) FILTER (WHERE state = 'finished' AND finished > now() - $1 * interval '1 second') AS recent
         FROM jobs GROUP BY run ORDER BY run`,
        [rateSeconds],
      );
      return { members: members.map(memberOf), runs: runs.map(runOf) };
    },
  };
}

const kinds = ["worker", "sampler", "trainer"] as const;

function memberOf(row: Row): QueueStatus["members"][number] {
  const kind: Member["kind"] = kinds.find((known) => known === row.kind) ?? "worker";
  return {
    name: textIn(row, "name"),
    kind,
    host: textIn(row, "host"),
    pid: numberIn(row, "pid"),
    details: textIn(row, "details"),
    groups: numberIn(row, "groups"),
    age: numberIn(row, "age"),
    silent: numberIn(row, "silent"),
    ...defined({ run: row.run === null ? undefined : textIn(row, "run") }),
  };
}

function runOf(row: Row): QueueStatus["runs"][number] {
  const [waiting, leased, finished, failed] = ["waiting", "leased", "finished", "failed"].map((state) =>
    numberIn(row, state),
  );
  return {
    run: textIn(row, "run"),
    waiting: waiting!,
    leased: leased!,
    finished: finished!,
    failed: failed!,
    groupsPerSecond: numberIn(row, "recent") / rateSeconds,
  };
}
