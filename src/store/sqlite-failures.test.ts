import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { LudusError } from "../errors.ts";
import { createRng } from "../random.ts";
import { annotated, fakeTask, fakeTrajectory } from "../schema/fake-trajectory.ts";
import { encodeTrajectory } from "../schema/index.ts";
import { loadSqlite } from "./sqlite/load-sqlite.ts";
import { openRun } from "./sqlite-store.ts";
import type { RunReader, RunStore, StoredTrajectory } from "./store.ts";

let directory: string;
let file: string;
let opened: RunStore[];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "ludus-failures-"));
  file = join(directory, "run.sqlite");
  opened = [];
});
afterEach(async () => {
  for (const run of opened) await run.close();
  chmodSync(directory, 0o755);
  rmSync(directory, { recursive: true });
});

async function open(options: { maxBytes?: number } = {}): Promise<RunStore> {
  const run = await openRun(directory, { now: () => 0, ...options });
  opened.push(run);
  return run;
}

async function writeSteps(run: RunStore, first: number, last: number): Promise<void> {
  for (let step = first; step <= last; step++) {
    const rng = createRng(step);
    const task = fakeTask(rng, "task-0");
    const trajectories = Array.from({ length: 8 }, () => fakeTrajectory(rng, {}, { tokensPerTurn: 200 }));
    await run.append(step, { metrics: { loss: step }, groups: [{ group: { task, trajectories }, split: "train" }] });
  }
}

async function failure(work: Promise<unknown>): Promise<LudusError> {
  const error = await work.then(
    () => new Error("nothing failed"),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(LudusError);
  return error as LudusError;
}

/** Changes a file behind the store's back. */
function alter(sql: string): void {
  const database = new (loadSqlite().DatabaseSync)(file);
  database.exec(sql);
  database.close();
}

test("a full disk loses the append that did not fit, and nothing before it", async () => {
  const run = await open({ maxBytes: 400_000 });
  const error = await failure(writeSteps(run, 0, 1000));
  expect(error.code).toBe("store-full");
  expect(error.message).toContain(file);
  expect(error.message).toContain("Free some space");
  const step = (await run.latestStep())!;
  expect(step).toBeGreaterThan(1);
  expect(await run.countTrajectories()).toBe(8 * (step + 1));
  await run.close();

  const again = await open();
  expect(await again.countTrajectories()).toBe(8 * (step + 1));
  await writeSteps(again, step + 1, step + 3);
  expect(await again.latestStep()).toBe(step + 3);
  expect(await again.countTrajectories({ text: "search" })).toBeGreaterThan(0);
});

test("a file that is no database is named, with a way to save what is left", async () => {
  await writeSteps(await open(), 0, 2);
  await opened[0].close();
  const bytes = readFileSync(file);
  bytes.fill(0x55, 0, 64);
  writeFileSync(file, bytes);
  for (const opening of [() => openRun(directory, { readOnly: true }), () => open()]) {
    const error = await failure(opening());
    expect(error.code).toBe("store-corrupt");
    expect(error.message).toContain(file);
    expect(error.message).toContain(".recover");
  }
});

test("damaged pages are an error or harmless, never another trajectory", async () => {
  await writeSteps(await open(), 0, 5);
  const { trajectories: before } = await opened[0].trajectories({}, { limit: 1000 });
  const whole = await Promise.all(before.map(({ key }) => opened[0].trajectory(key)));
  const bytesOf = new Map(whole.map(({ summary, trajectory }) => [summary.key, encodeTrajectory(trajectory)]));
  await opened[0].close();
  const bytes = readFileSync(file);
  const rng = createRng(1);
  let damaged = 0;
  for (let round = 0; round < 30; round++) {
    const start = 4096 + rng.integer(bytes.length - 8192);
    writeFileSync(
      file,
      Buffer.concat([bytes.subarray(0, start), Buffer.alloc(2048, 0xa5), bytes.subarray(start + 2048)]),
    );
    const run = await openRun(directory, { readOnly: true }).catch((error: unknown) => error);
    if (run instanceof Error) {
      expect(run).toBeInstanceOf(LudusError);
      continue;
    }
    const reader = run as RunReader;
    for (const { summary } of whole) {
      const read = await reader.trajectory(summary.key).catch((error: unknown) => error);
      if (read instanceof Error) {
        expect(read).toBeInstanceOf(LudusError);
        damaged++;
      } else expect(encodeTrajectory((read as StoredTrajectory).trajectory)).toEqual(bytesOf.get(summary.key));
    }
    await reader.close();
  }
  expect(damaged).toBeGreaterThan(10);
});

test("one damaged trajectory is named, and the others are still read", async () => {
  const run = await open();
  await writeSteps(run, 0, 0);
  await run.close();
  alter("UPDATE trajectory_bytes SET bytes = substr(bytes, 1, 30) WHERE id = 3");
  alter("UPDATE groups SET task = '{\"id\"'");
  const again = await open();
  const error = await failure(again.trajectory(3));
  expect(error.code).toBe("store-corrupt");
  expect(error.message).toContain(`${file}: task cannot be read`);
  expect(await again.countTrajectories()).toBe(8);
  expect((await again.trajectories()).trajectories).toHaveLength(8);
});

test("a newer version is refused", async () => {
  await (await open()).close();
  alter("PRAGMA user_version = 99");
  for (const opening of [() => openRun(directory, { readOnly: true }), () => open()]) {
    const error = await failure(opening());
    expect(error.code).toBe("store-newer");
    expect(error.message).toContain(`${file} of version 99, expected version 1 at most. A newer Ludus wrote it`);
  }
  alter("PRAGMA user_version = 1");
  await (await open()).close();
});

test("a run from before advantages were kept is read as it is, and gone on with", async () => {
  await writeSteps(await open(), 0, 0);
  await opened[0].close();
  alter("DROP TABLE trajectory_advantages");
  const reader = await openRun(directory, { readOnly: true });
  const [first] = (await reader.trajectories()).trajectories;
  expect((await reader.trajectory(first.key)).advantages_T).toBeUndefined();
  await reader.close();
  const again = await open();
  const task = fakeTask(createRng(1), "task-0");
  const trajectory = fakeTrajectory(createRng(2));
  const advantages_T = Float32Array.from(trajectory.mask_T, (mask) => mask);
  const advantages = new Map([[trajectory.id, advantages_T]]);
  await again.append(1, { groups: [{ group: { task, trajectories: [trajectory] }, split: "train", advantages }] });
  const [last] = (await again.trajectories()).trajectories;
  expect((await again.trajectory(last.key)).advantages_T).toEqual(advantages_T);
});

test("a run from before annotations is read as it is, and gone on with", async () => {
  await writeSteps(await open(), 0, 0);
  await opened[0].close();
  alter("DROP TABLE trajectory_annotations");
  const reader = await openRun(directory, { readOnly: true });
  const { trajectories } = await reader.trajectories();
  expect(trajectories.some(({ annotations }) => annotations !== undefined)).toBe(false);
  expect((await reader.trajectories({ annotations: { hint: false } })).trajectories).toEqual(trajectories);
  expect((await reader.trajectories({ annotations: { hint: true } })).trajectories).toEqual([]);
  expect(await reader.countTrajectories({ annotations: { hint: "plan" } })).toBe(0);
  await reader.close();
  const again = await open();
  const hint = { kind: "plan", text: "go on", prompt_P: Int32Array.of(1) };
  const group = {
    task: fakeTask(createRng(1), "task-0"),
    trajectories: [annotated(fakeTrajectory(createRng(2)), { hint })],
  };
  await again.append(1, { groups: [{ group, split: "train" }] });
  expect(await again.countTrajectories({ annotations: { hint: true } })).toBe(1);
});

test("hints of a run from before annotations are found, read-only and once it is gone on with", async () => {
  await writeSteps(await open(), 0, 0);
  const [{ key }] = (await opened[0].trajectories()).trajectories;
  await opened[0].close();
  alter("DROP TABLE trajectory_annotations");
  alter("CREATE TABLE trajectory_guidance(id INTEGER PRIMARY KEY, kind TEXT NOT NULL) STRICT");
  alter(`INSERT INTO trajectory_guidance VALUES (${key}, 'plan')`);
  const found = { trajectories: [expect.objectContaining({ key, annotations: { hint: "plan" } })] };
  const reader = await openRun(directory, { readOnly: true });
  expect(await reader.trajectories({ annotations: { hint: true } })).toEqual(found);
  expect(await reader.countTrajectories({ annotations: { hint: false } })).toBe(7);
  await reader.close();
  const again = await open();
  expect(await again.trajectories({ annotations: { hint: "plan" } })).toEqual(found);
  await again.truncateAfter(-1);
  expect(await again.countTrajectories({ annotations: { hint: true } })).toBe(0);
});

test("a database of another program is refused, and left as it is", async () => {
  alter("CREATE TABLE notes(text TEXT)");
  expect((await failure(open())).code).toBe("store-foreign");
  expect((await failure(openRun(directory, { readOnly: true }))).code).toBe("store-foreign");
});

test("a folder that is not there is named", async () => {
  const missing = join(directory, "none");
  const writing = await failure(openRun(missing, { now: () => 0 }));
  expect(writing.message).toContain(`store-missing: got "${missing}", expected a folder that exists. Make it first`);
  const reading = await failure(openRun(missing, { readOnly: true }));
  expect(reading.message).toContain(`store-missing: got "${missing}"`);
  const empty = await failure(openRun(directory, { readOnly: true }));
  expect(empty.message).toContain(`${file}, which has no run in it`);
});

/** Opens the run from a process that may not write to its folder. */
function openUnprivileged(): { writing: string; reading: string } {
  chmodSync(directory, 0o555);
  const store = JSON.stringify(new URL("./sqlite-store.ts", import.meta.url).href);
  const program = `
    import { openRun } from ${store};
    const directory = process.argv[1];
    const open = (options) => openRun(directory, options).then((run) => run.countTrajectories(), (error) => error.message);
    const [writing, reading] = [await open({ now: () => 0 }), await open({ readOnly: true })];
    console.log(JSON.stringify({ writing, reading }));`;
  // permissions do not hold for root
  const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  const parameters = ["--input-type=module", "-e", program, directory];
  return JSON.parse(execFileSync(process.execPath, parameters, { encoding: "utf8", ...user }));
}

test("a folder that cannot be written to is named; a run in it can be read", async () => {
  const run = await open();
  await writeSteps(run, 0, 1);
  await run.close();
  const { writing, reading } = openUnprivileged();
  expect(reading).toBe(16);
  expect(writing).toMatch(/^store-(read-only|unopenable): /);
  expect(writing).toContain(directory);
  expect(writing).toContain("Check the permissions of the file and of its folder");
});

test("no run can be begun in a folder that cannot be written to", () => {
  const { writing, reading } = openUnprivileged();
  expect(writing).toContain(`store-unopenable: got ${join(directory, "run.lock")}`);
  expect(reading).toContain("store-missing");
});

test("a second writer is told who the first is; readers are let in", async () => {
  const run = await open();
  await writeSteps(run, 0, 0);
  const error = await failure(openRun(directory, { now: () => 0 }));
  expect(error.code).toBe("store-locked");
  expect(error.message).toContain(`process ${process.pid} on ${hostname()} (since 1970-01-01T00:00:00.000Z)`);
  expect(error.message).toContain("readOnly: true");
  const reader = await openRun(directory, { readOnly: true });
  expect(await reader.latestStep()).toBe(0);
  await reader.close();
});

test("a failed opening gives the lock back", async () => {
  alter("CREATE TABLE notes(text TEXT)");
  await failure(open());
  alter("DROP TABLE notes");
  await (await open()).close();
});

test("closed, the run is one file and its lock", async () => {
  const run = await open();
  await writeSteps(run, 0, 3);
  expect(readdirSync(directory)).toContain("run.sqlite-wal");
  await run.close();
  expect(readdirSync(directory).sort()).toEqual(["run.lock", "run.sqlite"]);
});

test("closed beside a reader, the file alone is the whole run", async () => {
  const run = await open();
  await writeSteps(run, 0, 3);
  const reader = await openRun(directory, { readOnly: true });
  await run.close();
  const copy = mkdtempSync(join(directory, "copy-"));
  writeFileSync(join(copy, "run.sqlite"), readFileSync(file));
  const copied = await openRun(copy, { readOnly: true });
  expect(await copied.latestStep()).toBe(3);
  expect(await reader.latestStep()).toBe(3);
  await copied.close();
  await reader.close();
});

test("a log cut off in the middle of a write loses that transaction alone", async () => {
  const run = await open();
  await writeSteps(run, 0, 3);
  const copy = mkdtempSync(join(directory, "copy-"));
  writeFileSync(join(copy, "run.sqlite"), readFileSync(file));
  writeFileSync(join(copy, "run.sqlite-wal"), readFileSync(`${file}-wal`).subarray(0, -100));
  const recovered = await openRun(copy, { now: () => 0 });
  expect(await recovered.latestStep()).toBe(2);
  expect(await recovered.countTrajectories()).toBe(24);
  await recovered.close();
});
