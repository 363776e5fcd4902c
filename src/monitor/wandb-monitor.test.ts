import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { afterAll, expect, test } from "vitest";
import { monitorContract } from "./monitor.contract.ts";
import { logHeader, RecordFramer } from "./wandb/record-log.ts";
import { wandbMonitor } from "./wandb-monitor.ts";

const directory = mkdtempSync(join(tmpdir(), "ludus-wandb-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Reads the framing back, apart from the writer; checks every checksum. */
function readRecords(file: Uint8Array): Uint8Array[] {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const records: Uint8Array[] = [];
  const parts: Uint8Array[] = [];
  for (let at = logHeader.length; at < file.length; ) {
    if (32_768 - (at % 32_768) < 7) {
      at += 32_768 - (at % 32_768);
      continue;
    }
    const length = view.getUint16(at + 4, true);
    expect(view.getUint32(at, true)).toBe(crc32(file.subarray(at + 6, at + 7 + length)));
    parts.push(file.subarray(at + 7, at + 7 + length));
    if (file[at + 6] === 1 || file[at + 6] === 4) records.push(Buffer.concat(parts.splice(0)));
    at += 7 + length;
  }
  expect(parts).toEqual([]);
  return records;
}

test("records of any size come back, across the blocks of the file", () => {
  const framer = new RecordFramer();
  // the last but one leaves 3 bytes of a block, which hold no piece
  const sizes = [0, 1, 100, 32_000, 70_000, 28_000, 200_000, 32_768 - 7, 5];
  const records = sizes.map((size, i) => new Uint8Array(size).fill(i + 1));
  const file = Buffer.concat([logHeader, ...records.map((record) => framer.frame(record))]);
  const read = readRecords(file);
  expect(read.map((record) => [record.length, record.at(-1)])).toEqual(
    records.map((record) => [record.length, record.at(-1)]),
  );
});

test.each([0, 1, 6, 7, 8])("a block that ends %i bytes after a record", (left) => {
  const framer = new RecordFramer();
  const records = [new Uint8Array(32_768 - logHeader.length - 7 - left).fill(1), new Uint8Array(20).fill(2)];
  const file = Buffer.concat([logHeader, ...records.map((record) => framer.frame(record))]);
  expect(readRecords(file).map(({ length }) => length)).toEqual(records.map(({ length }) => length));
});

test("a run is a folder that W&B knows, with one row for a step and its evaluation", async () => {
  const monitor = wandbMonitor({
    directory,
    project: "letters",
    id: "abc12345",
    now: () => Date.UTC(2026, 0, 2, 3, 4, 5),
  });
  monitor.record({ type: "run-start", name: "letters" });
  monitor.record({ type: "step-end", step: 0, metrics: { "rollout/reward": 0.25 } });
  monitor.record({ type: "eval-end", step: 0, metrics: { "eval/success": 0.5 } });
  monitor.record({ type: "run-end", reason: "finished" });
  await monitor.close?.();
  const folder = join(directory, "wandb", "offline-run-20260102_030405-abc12345");
  expect(readdirSync(folder).sort()).toEqual(["files", "logs", "run-abc12345.wandb"]);
  const records = readRecords(readFileSync(join(folder, "run-abc12345.wandb"))).map((record) =>
    Buffer.from(record).toString("latin1"),
  );
  // header, run, history, summary, exit
  expect(records).toHaveLength(5);
  expect(records[2]).toMatch(/rollout\/reward.*0\.25.*eval\/success.*0\.5/s);
});

test("an id that would lead elsewhere, and options that are misspelt, are refused", () => {
  expect(() => wandbMonitor({ project: "x", id: "../up" })).toThrow(/^bad-config: got id/);
  expect(() => wandbMonitor({ porject: "x" } as never)).toThrow(/did you mean "project"/);
  expect(() => wandbMonitor({ project: "x", directory: "/dev/null" })).toThrow(/ENOTDIR|EEXIST/);
});

monitorContract("wandbMonitor", () => wandbMonitor({ directory: join(directory, "contract"), project: "contract" }));
