import { execFile } from "node:child_process";
import { type AddressInfo, connect, createServer } from "node:net";
import { promisify } from "node:util";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createRng } from "../random.ts";
import { addressedRuns } from "./addressed-runs.ts";
import { fakeGroup } from "./contract/context.ts";
import { parseAddress, withoutPassword } from "./postgres/address.ts";
import { loadPg } from "./postgres/load-pg.ts";
import { PostgresServer } from "./postgres/server.ts";
import { type PostgresRuns, postgres } from "./postgres-runs.ts";
import type { StepWrites } from "./store.ts";
import { hasPostgres, type LocalPostgres, startPostgres } from "./testing/local-postgres.ts";

const now = () => 5;
const event = (message: string) => ({ type: "warning", message }) as const;
const writes = (step: number): StepWrites => ({
  metrics: { loss: step },
  events: [event(`step ${step}`)],
  groups: [{ group: fakeGroup(createRng(step), "a", 2), split: "train" }],
  state: { step },
});

test("without the package pg an error names it", async () => {
  const load = loadPg(() => Promise.reject(new Error("Cannot find package 'pg'")));
  await expect(load).rejects.toThrow(/missing-package.*npm install pg/);
});

test("an address that cannot be read is refused, without the password in it", () => {
  for (const wrong of ["postgres://u:p4ssw0rd@:/x:y", "mysql://u:p4ssw0rd@h/d", "postgres://u:p4ss#w0rd@host:x/d"]) {
    const error = thrownBy(() => parseAddress(wrong));
    expect(error).toContain("bad-postgres-address");
    expect(error).not.toMatch(/p4ss/);
  }
  expect(() => postgres("postgres://h/d", { retry: 5 } as never)).toThrow(/unknown option "retry".*retryMs/);
  expect(() => postgres("postgres://h/d", { schema: "a; DROP" })).toThrow("bad-schema");
});

test("a password that was hidden is still used, and shown nowhere", () => {
  const hidden = withoutPassword("postgres://u:p4ss%23@h.example:99/d?password=other#sweep/a");
  expect(hidden).toBe("postgres://u@h.example:99/d#sweep/a");
  expect(parseAddress(hidden)).toEqual({
    shown: "postgres://u@h.example:99/d",
    url: "postgres://u@h.example:99/d",
    password: "p4ss#",
  });
});

test("an address without a run says how to name one", async () => {
  await expect(addressedRuns().open("postgres://u@127.0.0.1:1/d")).rejects.toThrow(/no-run-named.*#<run>/);
});

test("a server that is not there is an error at once", async () => {
  const runs = postgres("postgres://u:p4ssw0rd@127.0.0.1:1/d");
  const error = await runs.openForWriting("first", { now }).catch(String);
  expect(error).toMatch(/store-unreachable: got postgres:\/\/u@127.0.0.1:1\/d.*Is it running/);
  expect(error).not.toContain("p4ssw0rd");
});

describe.runIf(hasPostgres())("on a real server", () => {
  let server: LocalPostgres;
  let admin: PostgresServer;
  let runs: PostgresRuns;
  let places = 0;
  beforeAll(async () => {
    server = await startPostgres({ settings: ["password_encryption = scram-sha-256"] });
    admin = new PostgresServer(server.url(), { schema: "public", retryMs: 10_000, maxConnections: 1 });
  }, 60_000);
  afterAll(async () => {
    await admin?.close();
    await server?.close();
  });
  beforeEach(() => {
    runs = postgres(server.url(), { schema: `failures_${places++}` });
    return () => runs.close();
  });
  const cutAll = () =>
    admin.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND application_name = 'ludus'",
    );

  test("a database that is not there, and a user who may not log in, are told apart", async () => {
    await expect(postgres(server.url({ database: "none" })).count()).rejects.toThrow(
      /store-missing.*"none" does not exist/,
    );
    const wrong = postgres(server.url({ user: "stranger", password: "p4ssw0rd" }));
    const error = await wrong.count().catch(String);
    expect(error).toMatch(/store-login.*PGPASSWORD/);
    expect(error).not.toContain("p4ssw0rd");
  });

  test("connections that are cut between and during appends: each is kept once", async () => {
    const run = await runs.openForWriting("cut", { now });
    const appends: Promise<void>[] = [];
    for (let step = 0; step < 40; step++) {
      appends.push(run.append(step, writes(step)));
      if (step % 8 === 4) await cutAll();
    }
    await Promise.all(appends);
    const events = (await run.events()).map(({ event: each }) => each);
    expect(events).toEqual(Array.from({ length: 40 }, (_, step) => event(`step ${step}`)));
    expect(await run.countTrajectories()).toBe(80);
    await run.close();
  });

  test("a commit whose answer is lost is not made twice", async () => {
    const proxy = await startProxy(server.port);
    const schema = `failures_${places - 1}`;
    const through = postgres(server.url().replace(`:${server.port}/`, `:${proxy.port}/`), { schema });
    const run = await through.openForWriting("lost", { now });
    await run.append(0, writes(0));
    proxy.loseNextCommit();
    await run.append(1, writes(1));
    expect(proxy.lost).toBe(1);
    await run.append(2, writes(2));
    expect((await run.events()).map(({ step }) => step)).toEqual([0, 1, 2]);
    expect(await run.countTrajectories()).toBe(6);
    await run.close();
    await through.close();
    await proxy.close();
  });

  test("a server that crashes and comes back within the bound loses nothing", async () => {
    const run = await runs.openForWriting("crash", { now });
    await run.append(0, writes(0));
    await server.stop("immediate");
    const appending = [run.append(1, writes(1)), run.append(2, writes(2))];
    await server.start();
    await Promise.all(appending);
    expect((await run.events()).map(({ step }) => step)).toEqual([0, 1, 2]);
    await run.close();
  });

  test("one that stays away is an error when the bound is over", async () => {
    const impatient = postgres(server.url(), { schema: "impatient", retryMs: 100 });
    const run = await impatient.openForWriting("gone", { now });
    await server.stop();
    try {
      await expect(run.append(0, writes(0))).rejects.toThrow("store-unreachable");
    } finally {
      await server.start();
      await run.close();
      await impatient.close();
    }
  });

  test("a full disk fails the append whole, and the run goes on when there is room again", async () => {
    const schema = `failures_${places - 1}`;
    const run = await runs.openForWriting("full", { now });
    await run.append(0, writes(0));
    // what the server answers when a file cannot grow
    await admin.query(`CREATE FUNCTION ${schema}.full() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$`);
    await admin.query(
      `CREATE TRIGGER full_disk BEFORE INSERT ON ${schema}.trajectory_words EXECUTE FUNCTION ${schema}.full()`,
    );
    await expect(run.append(1, writes(1))).rejects.toThrow(/store-full.*No space left.*Free some space/);
    expect(await run.latestStep()).toBe(0);
    await admin.query(`DROP TRIGGER full_disk ON ${schema}.trajectory_words`);
    await run.append(1, writes(1));
    expect((await run.events()).map(({ step }) => step)).toEqual([0, 1]);
    await run.close();
  });

  test("a writer that lost its run to another is refused, and writes nothing", async () => {
    const first = await runs.openForWriting("stolen", { now });
    await first.append(0, writes(0));
    // cut, and before it notices another process opens the run
    await cutAll();
    const thief = postgres(server.url(), { schema: `failures_${places - 1}` });
    const second = await thief.openForWriting("stolen", { now });
    await second.append(1, writes(1));
    await expect(first.append(1, writes(7))).rejects.toThrow(/store-locked/);
    expect((await second.events()).map(({ step }) => step)).toEqual([0, 1]);
    await Promise.all([first.close(), second.close()]);
    await thief.close();
  });

  test("a process that was killed leaves no lock behind", async () => {
    const program = `import { postgres } from ${JSON.stringify(new URL("./postgres-runs.ts", import.meta.url).href)};
      const run = await postgres(process.argv[1], { schema: process.argv[2] }).openForWriting("killed", { now: () => 1 });
      await run.append(3, { metrics: { loss: 1 } });
      process.kill(process.pid, "SIGKILL");`;
    const args = ["--input-type=module", "-e", program, server.url(), `failures_${places - 1}`];
    await expect(promisify(execFile)(process.execPath, args)).rejects.toMatchObject({ signal: "SIGKILL" });
    const run = await runs.openForWriting("killed", { now });
    expect(await run.latestStep()).toBe(3);
    await run.close();
  });

  test("tables of a newer Ludus are refused", async () => {
    const run = await runs.openForWriting("old", { now });
    await run.close();
    await admin.query(`UPDATE failures_${places - 1}.ludus_version SET version = 99`);
    await expect(runs.count()).rejects.toThrow(/store-newer.*version 99/);
  });

  test("names with characters that PostgreSQL does not have, and very long ones, are kept and found", async () => {
    const run = await runs.openForWriting("hostile", { now });
    const taskId = `a\0b${"x".repeat(10_000)}`;
    const group = fakeGroup(createRng(1), taskId, 1, { rollout: "r\0" });
    await run.append(0, { groups: [{ group, split: "s\0" }] });
    const { trajectories } = await run.trajectories({ taskId, rollout: "r\0", split: "s\0" });
    expect(trajectories).toHaveLength(1);
    expect((await run.trajectory(trajectories[0].key)).trajectory.taskId).toBe(taskId);
    await run.close();
  });
});

/** Between a client and the server: it can hand a COMMIT on and keep the answer. */
async function startProxy(port: number) {
  let isArmed = false;
  let lost = 0;
  const proxy = createServer((client) => {
    const upstream = connect(port, "127.0.0.1");
    let isLosing = false;
    client.on("data", (data) => {
      if (isArmed && data.includes("COMMIT")) {
        isArmed = false;
        isLosing = true;
      }
      upstream.write(data);
    });
    upstream.on("data", (data) => {
      if (!isLosing) return client.write(data);
      lost++;
      client.destroy();
      return upstream.destroy();
    });
    for (const [from, to] of [[client, upstream] as const, [upstream, client] as const]) {
      from.on("close", () => to.destroy());
      from.on("error", () => to.destroy());
    }
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  return {
    port: (proxy.address() as AddressInfo).port,
    get lost() {
      return lost;
    },
    loseNextCommit() {
      isArmed = true;
    },
    close: () => new Promise((resolve) => proxy.close(resolve)),
  };
}

function thrownBy(work: () => unknown): string {
  try {
    return String(work());
  } catch (error) {
    return String(error);
  }
}
