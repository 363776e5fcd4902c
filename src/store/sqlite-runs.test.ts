import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { collect } from "../schema/index.ts";
import { sqliteRuns } from "./sqlite-runs.ts";
import { openRun } from "./sqlite-store.ts";
import { storeContract } from "./store.contract.ts";

storeContract("the SQLite store", async () => {
  const directory = mkdtempSync(join(tmpdir(), "ludus-store-"));
  return { runs: sqliteRuns(directory), remove: async () => rmSync(directory, { recursive: true }) };
});

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "ludus-runs-"));
});
afterEach(() => rmSync(root, { recursive: true }));

const now = () => 0;

async function makeRun(directory: string): Promise<string> {
  mkdirSync(directory, { recursive: true });
  const run = await openRun(directory, { now });
  await run.append(0, { metrics: { loss: 1 } });
  await run.close();
  return directory;
}

test("runs are found three folders deep, and not in folders of other programs", async () => {
  for (const id of ["a", "b/c", "b/d/e", "b/d/f/g", ".cache/x", "node_modules/y"]) await makeRun(join(root, id));
  mkdirSync(join(root, "empty"));
  const ids = (await collect(sqliteRuns(root).list())).map(({ id }) => id);
  expect(ids.sort()).toEqual(["a", "b/c", "b/d/e"]);
});

test("a root that is itself a run holds that one, under its own name", async () => {
  await makeRun(join(root, "first"));
  const runs = sqliteRuns(join(root, "first"));
  expect((await collect(runs.list())).map(({ id }) => id)).toEqual(["first"]);
  const reader = await runs.open("first");
  expect(await reader.latestStep()).toBe(0);
  await reader.close();
  expect(runs.checkpointDirectory("first")).toBe(join(root, "first"));
});

test("without a root, ids are paths", async () => {
  const directory = await makeRun(join(root, "first"));
  const runs = sqliteRuns();
  expect(await runs.info(directory)).toMatchObject({ id: directory, name: "first" });
  const reader = await runs.open(`${root}/./first`);
  expect(await reader.latestStep()).toBe(0);
  await reader.close();
  expect(runs.checkpointDirectory(directory)).toBe(directory);
  await expect(runs.open(root)).rejects.toThrow(/no-such-run: .*the folder of a run.*not the folder above/);
});

test("a damaged run is listed with what is wrong, and hides no other", async () => {
  await makeRun(join(root, "whole"));
  mkdirSync(join(root, "broken"));
  writeFileSync(join(root, "broken/run.sqlite"), "no database");
  const listed = await collect(sqliteRuns(root).list());
  expect(listed.find(({ id }) => id === "broken")?.problem).toMatch(/store-corrupt/);
  expect(listed.find(({ id }) => id === "whole")?.problem).toBeUndefined();
});

test("a root that is no folder is named, with what makes one", async () => {
  const missing = sqliteRuns(join(root, "none"));
  await expect(missing.count()).rejects.toThrow(/no-runs: .*none", which is no folder.*makes one/);
  await expect(collect(missing.list())).rejects.toThrow("no-runs");
  expect(await missing.info("first")).toBeUndefined();
  // the first writer makes it
  const run = await missing.openForWriting("first", { now });
  await run.close();
  expect(await missing.count()).toBe(1);
});

test("a run that cannot be made says where and why", async () => {
  writeFileSync(join(root, "file"), "");
  const opening = sqliteRuns(root).openForWriting("file/first", { now });
  await expect(opening).rejects.toThrow(/store-unopenable: .*file\/first.*none of them is a file/);
});

test("looking whether a run is written keeps no writer from it", async () => {
  const runs = sqliteRuns(root);
  await makeRun(join(root, "first"));
  const reader = await runs.open("first");
  for (let round = 0; round < 20; round++) {
    const [run] = await Promise.all([runs.openForWriting("first", { now }), runs.info("first"), runs.info("first")]);
    expect((await runs.info("first"))?.isWritten).toBe(true);
    await run.close();
  }
  await reader.close();
});

test("a run made anew in the same place is another run", async () => {
  const [runs, id] = [sqliteRuns(root), "first"];
  await makeRun(join(root, id));
  const before = await runs.info(id);
  rmSync(join(root, id), { recursive: true });
  await makeRun(join(root, id));
  expect((await runs.info(id))?.uid).not.toBe(before?.uid);
  expect(basename(runs.checkpointDirectory(id))).toBe(id);
});

test("a folder that may not be read hides no run", async () => {
  await makeRun(join(root, "first"));
  mkdirSync(join(root, "secret"));
  chmodSync(join(root, "secret"), 0o000);
  expect(await sqliteRuns(root).count()).toBe(1);
  chmodSync(join(root, "secret"), 0o755);
});

// root reads everything
test.skipIf(process.getuid?.() === 0)("a folder that was named and may not be read is said to be so", async () => {
  const path = join(root, "secret");
  await makeRun(path);
  chmodSync(path, 0o000);
  await expect(sqliteRuns().open(path)).rejects.toThrow(/^store-unreadable: .*may not read/);
  await expect(sqliteRuns(path).count()).rejects.toThrow(/^store-unreadable: .*may not read/);
  chmodSync(path, 0o755);
});

test("runs of other processes are listed once the last look is half a second old", async () => {
  let time = 0;
  const runs = sqliteRuns(root, { now: () => time });
  expect(await runs.count()).toBe(0);
  await makeRun(join(root, "first"));
  expect(await runs.count()).toBe(0);
  time = 500;
  expect(await runs.count()).toBe(1);
  // one that was removed since is left out
  rmSync(join(root, "first"), { recursive: true });
  expect(await collect(runs.list())).toEqual([]);
});
