import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { LudusError } from "../../src/errors.ts";
import { postgresQueue } from "../../src/queue/postgres-queue.ts";
import type { JobQueue } from "../../src/queue/queue.ts";
import { decodeResult } from "../../src/rollout/remote/job.ts";
import { findPostgres, startPostgres } from "../../src/store/testing/local-postgres.ts";
import { type AboutRun, aboutRun, busyWarning } from "../about-run.ts";
import type { Benchmark, BenchmarkContext } from "../benchmark.ts";
import { parseJsonOption } from "../json-option.ts";
import { writeRecord } from "../pages.ts";

const help = `Groups a second through one PostgreSQL server, with 100 workers: each leases a group, waits as long as a short episode takes,
and writes eight trajectories of four turns; a trainer offers, collects and decodes all of them. Server, workers and trainer share
this machine. Takes half a minute, and needs PostgreSQL (scripts/setup-postgres.sh). Writes bench/results/cluster.json.

Usage: npm run bench -- cluster [options]

  --json  print the figures as one JSON object

Example:
  npm run bench -- cluster --json
`;

const workers = 100;
const processes = 4;
const playMs = 50;
/** Groups that are offered and not yet collected. */
const underWay = 400;
const [warmSeconds, measuredSeconds] = [5, 15];

export interface ClusterFigures {
  versions: Readonly<Record<string, string>>;
  summary: { workers: number; groups_per_s: number };
  measured: { seconds: number; groups: number; lost: number; twice: number; bytesPerGroup: number; meanPlayMs: number };
}

interface ClusterResults extends ClusterFigures {
  about: AboutRun;
}

export const clusterBenchmark: Benchmark = {
  name: "cluster",
  summary: "groups a second through one PostgreSQL server, with 100 workers",
  help,
  async run(args, context) {
    const { json } = parseJsonOption("cluster", args);
    const about = aboutRun("cluster", args, context.root);
    const warning = busyWarning(about);
    if (warning !== undefined) context.progress(warning);
    const results: ClusterResults = { about, ...(await measureCluster(context)) };
    writeRecord(context.root, "cluster", results);
    const { summary, measured } = results;
    if (json) console.log(JSON.stringify(summary));
    else
      console.log(
        `${summary.groups_per_s} groups a second with ${workers} workers, ${measured.bytesPerGroup} bytes each`,
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

export async function measureCluster({
  progress,
  signal,
}: Pick<BenchmarkContext, "progress" | "signal">): Promise<ClusterFigures> {
  checkPostgres();
  const server = await startPostgres({ settings: ["fsync = on", "max_connections = 150"] });
  const queue = await postgresQueue(server.url());
  const children = Array.from({ length: processes }, (_, i) => startWorkers(server.url(), i, workers / processes));
  try {
    const trainer = new Trainer(queue);
    await trainer.runFor(warmSeconds, signal);
    progress(`warm: ${Math.round(trainer.collected / warmSeconds)} groups a second`);
    const [before, started] = [trainer.collected, performance.now()];
    await trainer.runFor(measuredSeconds, signal);
    const seconds = (performance.now() - started) / 1000;
    const groups = trainer.collected - before;
    await trainer.drain(signal);
    const { lost, twice, bytes } = trainer;
    return {
      versions: { node: process.versions.node, postgres: await versionOf(server.url()) },
      summary: { workers, groups_per_s: Math.round(groups / seconds) },
      measured: {
        seconds,
        groups,
        lost,
        twice,
        bytesPerGroup: Math.round(bytes / trainer.collected),
        meanPlayMs: playMs,
      },
    };
  } finally {
    await Promise.all(children.map(stopWorkers));
    await queue.close();
    await server.close();
  }
}

/** Keeps so many groups under way, and counts what comes back. */
class Trainer {
  readonly #queue: JobQueue;
  readonly #waiting = new Set<string>();
  readonly #seen = new Set<string>();
  #next = 0;
  collected = 0;
  twice = 0;
  bytes = 0;

  constructor(queue: JobQueue) {
    this.#queue = queue;
  }

  get lost(): number {
    return this.#next - this.#seen.size;
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
  }

  async #offer(): Promise<void> {
    const count = underWay - this.#waiting.size;
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
    for (const { id, result = new Uint8Array() } of done) {
      if (decodeResult(result).length === 0)
        throw new LudusError("bad-result", { got: "no rollouts", expected: "some" });
      if (this.#seen.has(id)) this.twice++;
      this.#seen.add(id);
      this.#waiting.delete(id);
      this.collected++;
      this.bytes += result.length;
    }
    await this.#queue.forget(
      "bench",
      done.map(({ id }) => id),
    );
    await setTimeout(10);
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
