import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { postgresQueue } from "../queue/postgres-queue.ts";
import type { JobQueue, LeasedJob } from "../queue/queue.ts";
import { lastTurns } from "../rollout/context.ts";
import { type OnWorkersOptions, onWorkers } from "../rollout/remote/on-workers.ts";
import { serveSampler } from "../rollout/remote/sampler-endpoint.ts";
import { runWorker, type WorkerOptions } from "../rollout/remote/worker.ts";
import { memoryRuns } from "../store/index.ts";
import { hasPostgres, type LocalPostgres, startPostgres } from "../store/testing/local-postgres.ts";
import { fakePolicy } from "./fixtures/fake-policy.ts";
import { letters } from "./fixtures/letters.ts";
import { tinyPolicy } from "./fixtures/tiny-policy.ts";
import { grpo, type TrainConfig, train } from "./index.ts";

describe.runIf(hasPostgres())("rollouts on workers", () => {
  let server: LocalPostgres;
  let places = 0;
  let connect: () => Promise<JobQueue>;
  let stop: AbortController;
  let working: Promise<unknown>[];
  const folder = mkdtempSync(join(tmpdir(), "ludus-on-workers-"));
  beforeAll(async () => {
    server = await startPostgres();
  }, 60_000);
  afterAll(async () => {
    await server?.close();
    rmSync(folder, { recursive: true, force: true });
  });
  beforeEach(() => {
    const schema = `workers_${places++}`;
    connect = () => postgresQueue(server.url(), { schema });
    stop = new AbortController();
    working = [];
    return async () => {
      stop.abort();
      await Promise.all(working);
    };
  });

  const world = () => letters({ turns: 2 });
  const startWorker = (more: Partial<WorkerOptions> = {}): void => {
    const work = (async (): Promise<number> => {
      const queue = await connect();
      try {
        return await runWorker(queue, { worlds: [{ world: world() }], pollMs: 5, signal: stop.signal, ...more });
      } finally {
        await queue.close();
      }
    })();
    working.push(work.catch(() => {}));
  };
  const remote = (more: Partial<OnWorkersOptions> = {}) =>
    onWorkers(world(), { connect, run: "first", pollMs: 5, ...more });
  const config = (): Omit<TrainConfig, "env"> => ({
    policy: tinyPolicy(),
    algorithm: grpo({ groupSize: 4 }),
    steps: 3,
    tasksPerStep: 4,
    eval: { tasks: 6 },
    now: () => 0,
  });

  test("a run gives the same numbers as one without workers, to the bit", async () => {
    const [here, there] = ["here", "there"].map((name) => memoryRuns({ checkpoints: join(folder, name) }));
    const local = await train({ ...config(), env: world(), run: "a", store: here });
    const env = remote();
    startWorker();
    startWorker();
    const distributed = await train({ ...config(), env, run: "a", store: there });
    const stable = (metrics: Readonly<Record<string, number>>) =>
      Object.fromEntries(Object.entries(metrics).filter(([name]) => !/seconds|per-second|time|\/s$/.test(name)));
    expect(stable(distributed.metrics)).toEqual(stable(local.metrics));
    expect(distributed.after?.success).toEqual(local.after?.success);
    const tokens = async (runs: typeof here) => {
      const reader = await runs.open("a");
      const { trajectories } = await reader.trajectories({}, { order: "oldest", limit: 1000 });
      return Promise.all(trajectories.map(async ({ key }) => (await reader.trajectory(key)).trajectory.logprobs_T));
    };
    expect(await tokens(there)).toEqual(await tokens(here));
    await env.release();
  });

  test("a worker that is stopped gives its work back, and another does it", async () => {
    const [first, asked, gate] = [new AbortController(), Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const outcomes: string[] = [];
    const policy = fakePolicy(0.5, {
      async beforeSample() {
        asked.resolve();
        await gate.promise;
      },
    });
    const env = remote();
    startWorker({ signal: first.signal, parallel: 1, onGroup: (_job, outcome) => outcomes.push(outcome) });
    const training = train({ ...config(), env, policy, steps: 2, eval: { tasks: 0 } });
    await asked.promise;
    first.abort();
    await working[0];
    expect(outcomes).toEqual(["given back"]);
    gate.resolve();
    startWorker();
    expect((await training).reason).toBe("finished");
    await env.release();
  });

  test("a sampler that dies fails no rollout: the group is played again with the next address", async () => {
    const policy = fakePolicy();
    const [dead, alive] = [await serveSampler(policy.engine, local), await serveSampler(policy.engine, local)];
    await dead.close();
    const env = remote({ samplers: [dead, alive].map(({ url, key }) => ({ url, key })) });
    startWorker();
    const result = await train({ ...config(), env, policy, steps: 1 });
    expect(result.reason).toBe("finished");
    expect(result.metrics["rollout/failed"] ?? 0).toBe(0);
    await alive.close();
    await env.release();
  });

  test("an attempt that no worker can make ends as an infrastructure failure that says why", async () => {
    const policy = fakePolicy();
    const env = remote();
    // plays with a context that the trainer does not have
    startWorker({ worlds: [{ world: world(), rollout: { context: lastTurns(1) } }] });
    const task = await env.tasks.at("train", 0);
    const played = await env.attempt(task, policy, { id: "one/0", seed: 1 });
    expect(await played.score()).toMatchObject({
      stop: "env-crash",
      failure: expect.stringContaining("other-settings"),
    });
    await env.release();
  });

  test("a run that is stopped withdraws its work", async () => {
    const env = remote();
    const stopRun = new AbortController();
    const task = await env.tasks.at("train", 0);
    const playing = env.attempt(task, fakePolicy(), { id: "one/0", seed: 1, signal: stopRun.signal });
    const queue = await connect();
    while ((await queue.status()).runs.length === 0) await new Promise((done) => setImmediate(done));
    stopRun.abort();
    expect((await playing).stop).toBe("cancelled");
    while ((await queue.status()).runs.length > 0) await new Promise((done) => setImmediate(done));
    await queue.close();
    await env.release();
  });

  test("results of a trainer that was killed are used by the one that goes on", async () => {
    const jobs: LeasedJob[] = [];
    startWorker({ onGroup: (job) => jobs.push(job) });
    const policy = fakePolicy();
    const task = await world().tasks.at("train", 0);
    for (let round = 0; round < 2; round++) {
      const env = remote();
      const played = await env.attempt(task, policy, { id: "one/0", seed: 1 });
      expect((await played.score()).trajectories).toHaveLength(1);
      await env.release();
    }
    expect(jobs).toHaveLength(1);
  });

  test("a policy that workers cannot render is refused before anything is offered", async () => {
    const { renderer: _renderer, ...policy } = fakePolicy();
    const own = { ...fakePolicy().renderer, start: () => Int32Array.of(1) };
    const env = remote();
    const task = await env.tasks.at("train", 0);
    const attempt = env.attempt(task, { ...policy, renderer: own }, { id: "one/0", seed: 1 });
    await expect(attempt).rejects.toThrow("remote-renderer");
    await env.release();
  });

  test("a misspelt option is an error", () => {
    expect(() => onWorkers(world(), { connect, run: "a", pollMss: 5 } as never)).toThrow(/pollMs/);
  });
});

test("a sampler answers nobody without its key, and refuses what is no request", async () => {
  const { engine } = fakePolicy();
  const { url, key, close } = await serveSampler(engine, local);
  const post = (body: string, given: string) =>
    fetch(`${url}/sample`, { method: "POST", body, headers: { authorization: `Bearer ${given}` } });
  expect((await post("{}", "wrong")).status).toBe(401);
  expect((await post("{}", key)).status).toBe(400);
  expect((await post("{", key)).status).not.toBe(200);
  expect((await fetch(`${url}/other`, { headers: { authorization: `Bearer ${key}` } })).status).toBe(404);
  expect((await post('{"tokens":[256],"maxTokens":1,"seed":1}', key)).status).toBe(200);
  await close();
});

const local = { host: "127.0.0.1", port: 0 };
