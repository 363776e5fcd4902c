import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { parseArgs } from "node:util";
import { defined } from "../../src/defined.ts";
import { LudusError } from "../../src/errors.ts";
import { postgresQueue } from "../../src/queue/postgres-queue.ts";
import type { CollectedJob, JobQueue } from "../../src/queue/queue.ts";
import { decodeResult } from "../../src/rollout/remote/job.ts";
import { postgres, type RunStore, trainSplit } from "../../src/store/index.ts";
import { findPostgres, startPostgres } from "../../src/store/testing/local-postgres.ts";
import { type AboutRun, aboutRun, busyWarning } from "../about-run.ts";
import type { Benchmark, BenchmarkContext } from "../benchmark.ts";
import { writeRecord } from "../pages.ts";

const usual = { workers: 100, seconds: 15 };

const help = `Groups a second through one PostgreSQL server that is queue and store, with ${usual.workers} workers: each leases a group, waits as long as
a short episode takes, and writes eight trajectories of at most four turns; a trainer offers jobs, collects and decodes results, appends
the groups to a run on the same server, and then forgets the jobs. A group counts when it is in the run. Server, workers and trainer
share this machine. Takes half a minute, and needs PostgreSQL (scripts/setup-postgres.sh). Writes bench/results/cluster.json, unless
--workers or --seconds is given.

Usage: npm run bench -- cluster [options]

  --workers <n>  workers, in 4 processes (${usual.workers})
  --seconds <n>  how long to measure, after a third of it to warm up (${usual.seconds})
  --json         print the figures as one JSON object

Example:
  npm run bench -- cluster --json
`;

const processes = 4;
const playMs = 50;
const attempts = 8;
/** Groups that are offered and not yet collected, for each worker. */
const underWay = 4;

export interface ClusterFigures {
  versions: Readonly<Record<string, string>>;
  summary: { workers: number; groups_per_s: number };
  measured: {
    seconds: number;
    groups: number;
    /** Groups that were offered and are not in the run when all jobs are done; and those that are there once more. */
    lost: number;
    twice: number;
    bytesPerGroup: number;
    meanPlayMs: number;
    /** Groups count when they are in a run on the same server. */
    isStored: true;
  };
}

interface ClusterResults extends ClusterFigures {
  about: AboutRun;
}

export const clusterBenchmark: Benchmark = {
  name: "cluster",
  summary: "groups a second through one PostgreSQL server, with 100 workers",
  help,
  async run(args, context) {
    const { json, isUsual, ...size } = parseOptions(args);
    const about = aboutRun("cluster", args, context.root);
    const warning = busyWarning(about);
    if (warning !== undefined) context.progress(warning);
    const results: ClusterResults = { about, ...(await measureCluster(context, size)) };
    context.progress(`${results.measured.lost} groups lost, ${results.measured.twice} twice`);
    if (isUsual) writeRecord(context.root, "cluster", results);
    const { summary, measured } = results;
    if (json) console.log(JSON.stringify(summary));
    else
      console.log(
        `${summary.groups_per_s} groups a second with ${summary.workers} workers, ${measured.bytesPerGroup} bytes each`,
      );
  },
};

/** Throws where there is no PostgreSQL. */
export function checkPostgres(): void {
  if (findPostgres() === undefined) {
    throw new LudusError("no-postgres", {
      got: "no PostgreSQL",
      expected: "one",
      hint: "scripts/setup-postgres.sh installs it.",
    });
  }
}

export async function measureCluster(
  { progress, signal }: Pick<BenchmarkContext, "progress" | "signal">,
  { workers, seconds: wanted } = usual,
): Promise<ClusterFigures> {
  checkPostgres();
  const server = await startPostgres({ settings: ["fsync = on", `max_connections = ${workers + 50}`] });
  const queue = await postgresQueue(server.url());
  const runs = postgres(server.url());
  const run = await runs.openForWriting("bench", { now: Date.now });
  const counts = Array.from({ length: processes }, (_, i) => Math.floor((workers + i) / processes));
  const children = counts.map((count, i) => startWorkers(server.url(), i * workers, count));
  try {
    const trainer = new Trainer(queue, run, underWay * workers);
    const warmSeconds = wanted / 3;
    await trainer.runFor(warmSeconds, signal);
    progress(`warm: ${Math.round(trainer.stored / warmSeconds)} groups a second`);
    const [before, started] = [trainer.stored, performance.now()];
    await trainer.runFor(wanted, signal);
    const seconds = (performance.now() - started) / 1000;
    const groups = trainer.stored - before;
    await trainer.drain(signal);
    return {
      versions: { node: process.versions.node, postgres: await versionOf(server.url()) },
      summary: { workers, groups_per_s: Math.round(groups / seconds) },
      measured: {
        seconds,
        groups,
        ...(await trainer.account()),
        bytesPerGroup: Math.round(trainer.bytes / trainer.stored),
        meanPlayMs: playMs,
        isStored: true,
      },
    };
  } finally {
    await Promise.all(children.map(stopWorkers));
    await run.close();
    await runs.close();
    await queue.close();
    await server.close();
  }
}

function parseOptions(args: readonly string[]): typeof usual & { json: boolean; isUsual: boolean } {
  const fail = (got: string) =>
    new LudusError("bad-option", {
      got,
      expected: "--workers <n>, --seconds <n> or --json",
      hint: "See npm run bench -- cluster --help.",
    });
  try {
    const options = { workers: { type: "string" }, seconds: { type: "string" }, json: { type: "boolean" } } as const;
    const { values } = parseArgs({ args: [...args], options });
    const number = (name: keyof typeof usual) => {
      const value = Number(values[name] ?? usual[name]);
      if (!Number.isInteger(value) || value < 1) throw fail(`--${name} ${values[name]}`);
      return value;
    };
    const isUsual = values.workers === undefined && values.seconds === undefined;
    return { workers: number("workers"), seconds: number("seconds"), json: values.json ?? false, isUsual };
  } catch (error) {
    throw error instanceof LudusError ? error : fail(args.join(" "));
  }
}

/** Keeps so many groups under way, and appends what comes back to a run: what is collected at once is a step. */
class Trainer {
  readonly #queue: JobQueue;
  readonly #run: RunStore;
  readonly #underWay: number;
  readonly #waiting = new Set<string>();
  #storing: Promise<void> = Promise.resolve();
  #next = 0;
  #step = 0;
  stored = 0;
  bytes = 0;

  constructor(queue: JobQueue, run: RunStore, underWay: number) {
    this.#queue = queue;
    this.#run = run;
    this.#underWay = underWay;
  }

  async runFor(seconds: number, signal: AbortSignal): Promise<void> {
    const end = performance.now() + 1000 * seconds;
    while (performance.now() < end) {
      signal.throwIfAborted();
      await this.#offer();
      await this.#collect();
    }
  }

  async drain(signal: AbortSignal): Promise<void> {
    while (this.#waiting.size > 0) {
      signal.throwIfAborted();
      await this.#collect();
    }
    await this.#storing;
  }

  /** What the run holds, against what was offered. */
  async account(): Promise<{ lost: number; twice: number }> {
    const seen = new Set<string>();
    let [groups, after] = [0, undefined as number | undefined];
    do {
      const page = await this.#run.trajectories({}, { order: "oldest", limit: 1000, ...defined({ after }) });
      for (const { taskId } of page.trajectories) seen.add(taskId);
      groups += page.trajectories.length / attempts;
      after = page.next;
    } while (after !== undefined);
    return { lost: this.#next - seen.size, twice: groups - seen.size };
  }

  async #offer(): Promise<void> {
    const count = this.#underWay - this.#waiting.size;
    if (count <= 0) return;
    const jobs = Array.from({ length: count }, () => ({
      id: `job-${this.#next++}`,
      world: "bench",
      spec: "x".repeat(1000),
    }));
    for (const { id } of jobs) this.#waiting.add(id);
    await this.#queue.offer("bench", jobs, [{ url: "http://127.0.0.1:1" }]);
  }

  async #collect(): Promise<void> {
    const done = await this.#queue.collect("bench", [...this.#waiting]);
    for (const { id } of done) this.#waiting.delete(id);
    await this.#storing;
    if (done.length > 0) {
      this.#storing = this.#store(done);
      this.#storing.catch(() => {}); // whoever waits for it next is told
    }
    await setTimeout(10);
  }

  /** A job is forgotten when its group is in the run: one that was killed between would collect it again. */
  async #store(done: readonly CollectedJob[]): Promise<void> {
    const groups = done.map(({ id, result = new Uint8Array() }) => {
      this.bytes += result.length;
      const trajectories = decodeResult(result).flatMap((rollout) => rollout.trajectories);
      if (trajectories.length !== attempts) {
        throw new LudusError("bad-result", { got: `${trajectories.length} trajectories`, expected: `${attempts}` });
      }
      const task = { id, seed: 0, data: {} };
      return {
        group: { task, trajectories: trajectories.map((each) => ({ ...each, taskId: id })) },
        split: trainSplit,
      };
    });
    await this.#run.append(this.#step++, { groups });
    this.stored += groups.length;
    await this.#queue.forget(
      "bench",
      done.map(({ id }) => id),
    );
  }
}

function startWorkers(connect: string, index: number, count: number): ChildProcess {
  const program = join(import.meta.dirname, "simulated-workers.ts");
  const args = ["--connect", connect, "--workers", `${count}`, "--first", `${index * count}`, "--playMs", `${playMs}`];
  return fork(program, args, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
}

async function stopWorkers(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const ended = once(child, "exit");
  if (child.connected) child.send("stop");
  await ended;
}

async function versionOf(url: string): Promise<string> {
  const { PostgresServer } = await import("../../src/store/postgres/server.ts");
  const server = new PostgresServer(url, { schema: "ludus", retryMs: 0, maxConnections: 1 });
  const [row] = await server.query("SHOW server_version");
  await server.close();
  return String(row?.server_version);
}
