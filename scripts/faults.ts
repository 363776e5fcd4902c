// What happens to a run on workers when something breaks: real processes, a real PostgreSQL server, and a count of what was lost or
// used twice. Writes its part of docs/reference/faults.md.
//
//     npx node scripts/faults.ts [--only kill-worker,cut]     # then other rows stay as they were

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import { parseArgs } from "node:util";
import { PostgresServer } from "../src/store/postgres/server.ts";
import { postgres } from "../src/store/postgres-runs.ts";
import { type LocalPostgres, startPostgres } from "../src/store/testing/local-postgres.ts";
import { groupSize, groupsPerStep, steps } from "./faults/config.ts";

const root = join(import.meta.dirname, "..");
const run = "faults";
const patienceMs = 120_000;

interface Scene {
  readonly server: LocalPostgres;
  readonly admin: PostgresServer;
  readonly workers: ChildProcess[];
  readonly samplers: readonly ChildProcess[];
  trainer: ChildProcess;
  start(args: readonly string[]): ChildProcess;
}

interface Fault {
  readonly name: string;
  readonly what: string;
  /** Samplers in processes of their own; without any the trainer serves its engine. */
  readonly samplers?: number;
  /** Does it, and what an operator or a supervisor does then. */
  cause(scene: Scene): Promise<void>;
}

const faults: readonly Fault[] = [
  {
    name: "kill-worker",
    what: "`kill -9` of one of two workers, not replaced; leases of 3 s",
    async cause({ workers }) {
      workers[0]?.kill("SIGKILL");
    },
  },
  {
    name: "kill-trainer",
    what: "`kill -9` of the trainer, started again at once with `--resume`",
    async cause(scene) {
      scene.trainer.kill("SIGKILL");
      await ended(scene.trainer);
      scene.trainer = scene.start(trainArgs(true));
    },
  },
  {
    name: "kill-sampler",
    what: "`kill -9` of one of two samplers in processes of their own, not replaced",
    samplers: 2,
    async cause({ samplers }) {
      samplers[0]?.kill("SIGKILL");
    },
  },
  {
    name: "restart-postgres",
    what: "PostgreSQL crashes (`pg_ctl stop -m immediate`) and is started again after 2 s",
    async cause({ server }) {
      await server.stop("immediate");
      await setTimeout(2000);
      await server.start();
    },
  },
  {
    name: "cut",
    what: "all connections to PostgreSQL are cut, three times",
    async cause({ admin }) {
      for (let round = 0; round < 3; round++) {
        await admin.query(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'ludus' AND pid <> pg_backend_pid()",
        );
        await setTimeout(100);
      }
    },
  },
  {
    name: "full-disk",
    what: "the server answers that its disk is full (53100) until the run has failed; then there is room, and the run is resumed",
    async cause(scene) {
      const { admin } = scene;
      await admin.query(`CREATE OR REPLACE FUNCTION ludus.full() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        RAISE EXCEPTION 'No space left on device' USING ERRCODE = 'disk_full'; END $$`);
      await admin.query(
        "CREATE TRIGGER full_disk BEFORE INSERT ON ludus.trajectory_bytes EXECUTE FUNCTION ludus.full()",
      );
      await ended(scene.trainer);
      await admin.query("DROP TRIGGER full_disk ON ludus.trajectory_bytes");
      scene.trainer = scene.start(trainArgs(true));
    },
  },
  {
    name: "clock-jump",
    what: "the server's clock jumps an hour ahead: all leases are over while they are worked on",
    async cause({ admin }) {
      await admin.query("UPDATE ludus.jobs SET expires = expires - interval '1 hour' WHERE state = 'leased'");
    },
  },
];

function trainArgs(isResumed: boolean): string[] {
  const file = join(root, "scripts/faults/config.ts");
  return ["train", file, "--run", run, "--quiet", ...(isResumed ? ["--resume"] : [])];
}

interface Outcome {
  readonly fault: Fault;
  readonly lost: number;
  readonly twice: number;
  readonly seconds: number;
}

async function measure(fault: Fault): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), "ludus-faults-"));
  const server = await startPostgres({ settings: ["fsync = on"] });
  const url = server.url();
  const samplers = await Promise.all(Array.from({ length: fault.samplers ?? 0 }, startSampler));
  const addresses = JSON.stringify(samplers.map(({ address }) => address));
  const env = {
    ...process.env,
    LUDUS_FAULTS_URL: url,
    LUDUS_CHECKPOINTS: folder,
    ...(samplers.length === 0 ? {} : { LUDUS_FAULTS_SAMPLERS: addresses }),
  };
  const start = (args: readonly string[]) =>
    spawn(process.execPath, [join(root, "bin/ludus.js"), ...args], {
      env,
      cwd: folder,
      stdio: ["ignore", "ignore", "inherit"],
    });
  const file = join(root, "scripts/faults/config.ts");
  const worker = () => start(["worker", file, "--connect", url, "--lease", "3", "--quiet"]);
  const admin = new PostgresServer(url, { schema: "public", retryMs: 20_000, maxConnections: 1 });
  const scene: Scene = {
    server,
    admin,
    workers: [worker(), worker()],
    samplers: samplers.map(({ child }) => child),
    trainer: start(trainArgs(false)),
    start,
  };
  const runs = postgres(url);
  try {
    const before = await stepAfter(runs, 2);
    const started = performance.now();
    await fault.cause(scene);
    await stepAfter(runs, before + 1);
    const seconds = (performance.now() - started) / 1000;
    await ended(scene.trainer);
    return { fault, seconds, ...(await count(runs)) };
  } finally {
    const children = [...scene.workers, ...scene.samplers, scene.trainer].filter(
      ({ exitCode, signalCode }) => exitCode === null && signalCode === null,
    );
    for (const child of children) child.kill("SIGKILL");
    await Promise.all(children.map(ended));
    await runs.close();
    await admin.close();
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function startSampler(): Promise<{ child: ChildProcess; address: unknown }> {
  const child = spawn(process.execPath, [join(root, "scripts/faults/sampler.ts")], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  for await (const line of createInterface({ input: child.stdout })) return { child, address: JSON.parse(line) };
  throw new Error("the sampler ended before it had said where it is");
}

/** Waits until a step is recorded, and returns the last one that is. */
async function stepAfter(runs: ReturnType<typeof postgres>, step: number): Promise<number> {
  const until = performance.now() + patienceMs;
  while (performance.now() < until) {
    const reader = await runs.open(run).catch(() => undefined);
    const latest = await reader?.latestStep().catch(() => undefined);
    await reader?.close();
    if (latest !== undefined && latest >= step) return latest;
    await setTimeout(50);
  }
  throw new Error(`step ${step} was not recorded within ${patienceMs / 1000} s`);
}

/** Attempts that are not there, and attempts that are there more than once, over all steps. */
async function count(runs: ReturnType<typeof postgres>): Promise<{ lost: number; twice: number }> {
  const reader = await runs.open(run);
  const rollouts: string[] = [];
  let after: number | undefined;
  do {
    const page = await reader.trajectories(
      { split: "train" },
      { order: "oldest", limit: 500, ...(after === undefined ? {} : { after }) },
    );
    rollouts.push(...page.trajectories.map(({ rollout }) => rollout));
    after = page.next;
  } while (after !== undefined);
  await reader.close();
  const unique = new Set(rollouts).size;
  return { lost: steps * groupsPerStep * groupSize - unique, twice: rollouts.length - unique };
}

function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => child.once("exit", () => resolve()));
}

/** The page from one mark to the other. */
const part = /(<!-- measured: npx node scripts\/faults\.ts -->\n)[\s\S]*(<!-- \/measured -->)/;

/** The page with its part anew. Of a fault that was not measured now, the row that the page has. */
function page(outcomes: readonly Outcome[], before: string): string {
  const rows = faults.flatMap((fault) => {
    const known = before.split("\n").filter((line) => line.startsWith(`| ${fault.what} |`));
    const outcome = outcomes.find((each) => each.fault === fault);
    if (outcome === undefined) return known;
    const { lost, twice, seconds } = outcome;
    return [`| ${fault.what} | ${lost} | ${twice} | ${seconds.toFixed(1)} |`];
  });
  const text = `A run of ${steps} steps of ${groupsPerStep} groups of ${groupSize} attempts on two \`ludus worker\` processes and one PostgreSQL server, as separate processes on one machine.
Something breaks after the third step. *Lost* and *used twice* are attempts, counted in the store when the run has ended. *Seconds* are from the
fault to the next step that is recorded, with the time of that step (about a second) and of starting processes. The full disk and the clock are
simulated: a trigger that raises PostgreSQL's error, and leases that are set back.

| what happens | lost | used twice | seconds |
|---|--:|--:|--:|
${rows.join("\n")}
`;
  return before.replace(part, (_, start: string, end: string) => `${start}${text}${end}`);
}

const { values } = parseArgs({ options: { only: { type: "string" } } });
const only = values.only?.split(",");
const unknown = only?.find((name) => !faults.some((fault) => fault.name === name));
if (unknown !== undefined) {
  console.error(`--only ${unknown}: expected one of ${faults.map(({ name }) => name).join(", ")}`);
  process.exit(2);
}
const outcomes: Outcome[] = [];
for (const fault of faults.filter(({ name }) => only?.includes(name) ?? true)) {
  const outcome = await measure(fault);
  outcomes.push(outcome);
  console.log(`${fault.name}: lost ${outcome.lost}, used twice ${outcome.twice}, ${outcome.seconds.toFixed(1)} s`);
}
const file = join(root, "docs/reference/faults.md");
writeFileSync(file, page(outcomes, readFileSync(file, "utf8")));
process.exitCode = outcomes.every(({ lost, twice }) => lost === 0 && twice === 0) ? 0 : 1;
