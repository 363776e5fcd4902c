import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { PostgresServer } from "../store/postgres/server.ts";
import { hasPostgres, type LocalPostgres, startPostgres } from "../store/testing/local-postgres.ts";
import { postgresQueue } from "./postgres-queue.ts";
import { type JobQueue, maxTries } from "./queue.ts";

const text = (bytes: Uint8Array | undefined) => (bytes === undefined ? undefined : new TextDecoder().decode(bytes));
const bytes = (value: string) => new TextEncoder().encode(value);
const job = (id: string, world = "maze") => ({ id, world, spec: `{"id":"${id}"}` });
const wanted = { worlds: ["maze"], count: 10, leaseMs: 60_000 };

describe.runIf(hasPostgres())("a queue on PostgreSQL", () => {
  let server: LocalPostgres;
  let queue: JobQueue;
  let admin: PostgresServer;
  let places = 0;
  beforeAll(async () => {
    server = await startPostgres();
  }, 60_000);
  afterAll(() => server?.close());
  beforeEach(async () => {
    const schema = `queue_${places++}`;
    queue = await postgresQueue(server.url(), { schema, expiredMs: 0 });
    admin = new PostgresServer(server.url(), { schema, retryMs: 1000, maxConnections: 1 });
    return async () => {
      await queue.close();
      await admin.close();
    };
  });
  /** What the passing of time does to leases. */
  const expireAll = () => admin.query("UPDATE jobs SET expires = now() - interval '1 second' WHERE state = 'leased'");

  test("jobs are leased once each, the oldest first, and collected when they are finished", async () => {
    await queue.offer("first", [job("a"), job("b"), job("c")], [{ url: "http://s", key: "k" }]);
    const [a, b] = await queue.take("one", { ...wanted, count: 2 });
    const others = await queue.take("two", wanted);
    expect([a.id, b.id, ...others.map(({ id }) => id)]).toEqual(["a", "b", "c"]);
    expect(a).toMatchObject({ run: "first", spec: '{"id":"a"}', samplers: [{ url: "http://s", key: "k" }] });
    expect(await queue.collect("first", ["a", "b", "c"])).toEqual([]);
    expect(await queue.finish(b, bytes("done"))).toBe(true);
    const [done, ...rest] = await queue.collect("first", ["a", "b", "c"]);
    expect([done.id, text(done.result), rest]).toEqual(["b", "done", []]);
    expect(await queue.collect("second", ["b"])).toEqual([]);
  });

  test("workers that take at once never get the same job", async () => {
    const ids = Array.from({ length: 200 }, (_, i) => `job-${i}`);
    await queue.offer(
      "first",
      ids.map((id) => job(id)),
      [],
    );
    const takers = Array.from({ length: 40 }, (_, i) => queue.take(`worker-${i}`, { ...wanted, count: 5 }));
    const taken = (await Promise.all(takers)).flat().map(({ id }) => id);
    expect(taken.length).toBe(new Set(taken).size);
    const left = await queue.take("last", { ...wanted, count: 200 });
    expect(new Set([...taken, ...left.map(({ id }) => id)])).toEqual(new Set(ids));
  });

  test("a worker takes only jobs of worlds it has", async () => {
    await queue.offer("first", [job("a", "other"), job("b")], []);
    expect((await queue.take("one", wanted)).map(({ id }) => id)).toEqual(["b"]);
  });

  test("a lease that expires goes to another worker; the first result is kept, the second is not", async () => {
    await queue.offer("first", [job("a")], []);
    const [lost] = await queue.take("one", wanted);
    expect(await queue.take("two", wanted)).toEqual([]);
    await expireAll();
    const [again] = await queue.take("two", wanted);
    expect(again.token).not.toBe(lost.token);
    expect(await queue.renew([lost, again], 60_000)).toEqual([again]);
    expect(await queue.finish(lost, bytes("late, and still first"))).toBe(true);
    expect(await queue.finish(again, bytes("second"))).toBe(false);
    expect(text((await queue.collect("first", ["a"]))[0].result)).toBe("late, and still first");
  });

  test("a lease that is renewed stays", async () => {
    await queue.offer("first", [job("a")], []);
    const [held] = await queue.take("one", wanted);
    await expireAll();
    expect(await queue.renew([held], 60_000)).toEqual([held]);
    expect(await queue.take("two", wanted)).toEqual([]);
  });

  test("a job that is given back waits again; one that fails too often has failed, until it is offered again", async () => {
    await queue.offer("first", [job("a")], []);
    for (let round = 0; round < maxTries + 3; round++) {
      const [held] = await queue.take("one", wanted);
      await queue.release(held);
    }
    for (let round = 0; round < maxTries; round++) {
      expect(await queue.collect("first", ["a"])).toEqual([]);
      const [held] = await queue.take("one", wanted);
      await queue.release(held, `crash\0 ${round}`);
    }
    expect(await queue.take("one", wanted)).toEqual([]);
    expect(await queue.collect("first", ["a"])).toEqual([{ id: "a", failure: `crash\ufffd ${maxTries - 1}` }]);
    await queue.offer("first", [job("a")], [{ url: "http://new" }]);
    expect(await queue.take("one", wanted)).toMatchObject([{ id: "a", samplers: [{ url: "http://new" }] }]);
  });

  test("a job that is lost with its worker each time has failed", async () => {
    await queue.offer("first", [job("a")], []);
    for (let round = 0; round < maxTries; round++) {
      expect(await queue.take(`worker-${round}`, wanted)).toHaveLength(1);
      await expireAll();
    }
    expect(await queue.take("next", wanted)).toEqual([]);
    expect((await queue.collect("first", ["a"]))[0].failure).toContain("gone each time");
  });

  test("a trainer that offers a finished job again finds its result", async () => {
    await queue.offer("first", [job("a")], [{ url: "http://old" }]);
    const [held] = await queue.take("one", wanted);
    await queue.finish(held, bytes("done"));
    await queue.offer("first", [job("a")], [{ url: "http://new" }]);
    expect(await queue.take("one", wanted)).toEqual([]);
    expect(text((await queue.collect("first", ["a"]))[0].result)).toBe("done");
    await queue.forget("first", ["a"]);
    expect(await queue.collect("first", ["a"])).toEqual([]);
    expect(await queue.finish(held, bytes("nobody wants it"))).toBe(false);
  });

  test("status says who is there and how far runs are", async () => {
    await queue.offer("first", [job("a"), job("b"), job("c")], []);
    const [a] = await queue.take("one", { ...wanted, count: 2 });
    await queue.finish(a, bytes("x"));
    await queue.beat({ name: "one", kind: "worker", details: "maze", groups: 1 });
    await queue.beat({ name: "t", kind: "trainer", run: "first", details: "", groups: 0 });
    const { members, runs } = await queue.status();
    expect(runs).toEqual([{ run: "first", waiting: 1, leased: 1, finished: 1, failed: 0, groupsPerSecond: 0.1 }]);
    expect(members).toMatchObject([
      { name: "t", kind: "trainer", run: "first", pid: process.pid },
      { name: "one", kind: "worker", groups: 1 },
    ]);
    await queue.leave("one");
    expect((await queue.status()).members.map(({ name }) => name)).toEqual(["t"]);
  });

  test("documents are written once", async () => {
    await queue.publish("x", "first");
    await queue.publish("x", "second");
    expect(await queue.document("x")).toBe("first");
    expect(await queue.document("y")).toBeUndefined();
  });
});
