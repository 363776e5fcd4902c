import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BinaryReader } from "@bufbuild/protobuf/wire";
import { afterAll, describe, expect, test } from "vitest";
import { monitorContract } from "./monitor.contract.ts";
import { crc32c, maskedCrc32c, readTfRecords, tfRecord } from "./tensorboard/tf-record.ts";
import { tensorboardMonitor } from "./tensorboard-monitor.ts";

const directory = mkdtempSync(join(tmpdir(), "ludus-tensorboard-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

describe("checksums", () => {
  const text = (words: string) => new TextEncoder().encode(words);

  // RFC 3720, B.4
  test.each([
    ["123456789", text("123456789"), 0xe3069283],
    ["32 zeros", new Uint8Array(32), 0x8a9136aa],
    ["32 times 0xff", new Uint8Array(32).fill(0xff), 0x62a8ab43],
    ["0 to 31", Uint8Array.from({ length: 32 }, (_, i) => i), 0x46dd794e],
  ])("of %s", (_, bytes, expected) => expect(crc32c(bytes)).toBe(expected));

  test("masked: rotated right by 15 bits, then a constant is added", () => {
    const rotated = ((0xe3069283 >>> 15) | (0xe3069283 << 17)) >>> 0;
    expect(maskedCrc32c(text("123456789"))).toBe((rotated + 0xa282ead8) % 2 ** 32);
  });
});

describe("records", () => {
  const records = [Uint8Array.of(1, 2, 3), new Uint8Array(0), new Uint8Array(1000).fill(7)];
  const file = new Uint8Array(Buffer.concat(records.map(tfRecord)));

  test("come back as they were, also when the last one is cut off", () => {
    expect(readTfRecords(file)).toEqual(records);
    expect(readTfRecords(file.subarray(0, -1))).toHaveLength(2);
  });

  test("with a bit flipped are refused", () => {
    const flipped = Uint8Array.from(file);
    flipped[13] ^= 1;
    expect(() => readTfRecords(flipped)).toThrow(/wrong checksum in the record at byte 0/);
  });
});

test("a run's metrics are in the event file by step", async () => {
  const monitor = tensorboardMonitor({ directory, now: () => 1_700_000_000_500 });
  monitor.record({ type: "run-start", name: "copy" });
  monitor.record({ type: "step-end", step: 3, metrics: { "rollout/reward": 0.25, "update/loss": 1e300 } });
  monitor.record({ type: "eval-end", step: 70_000, metrics: { "eval/success": Number.NaN } });
  await monitor.close?.();
  const [name] = readdirSync(directory);
  expect(name).toMatch(/^events\.out\.tfevents\.1700000000\.ludus\.\d+$/);
  expect(readTfRecords(readFileSync(join(directory, name))).map(readEvent)).toEqual([
    { wallTime: 1_700_000_000.5, version: "brain.Event:2" },
    {
      wallTime: 1_700_000_000.5,
      step: 3,
      scalars: { "rollout/reward": 0.25, "update/loss": Math.fround(3.4028234663852886e38) },
    },
    { wallTime: 1_700_000_000.5, step: 70_000, scalars: { "eval/success": Number.NaN } },
  ]);
});

let folders = 0;
monitorContract("tensorboardMonitor", () =>
  tensorboardMonitor({ directory: join(directory, "contract", `${folders++}`) }),
);

const scalarsIn = (file: string) =>
  readTfRecords(readFileSync(file))
    .slice(1)
    .map((record) => readEvent(record));

test("numbers that are not finite and long names come back as they are", async () => {
  const folder = join(directory, "numbers");
  const monitor = tensorboardMonitor({ directory: folder, now: () => 0 });
  const scalars = { a: Infinity, b: -Infinity, c: Number.NaN, ["d".repeat(5000)]: 1, "ü 👩‍👧": 2 };
  monitor.record({ type: "step-end", step: 0, metrics: scalars });
  await monitor.close?.();
  expect(scalarsIn(join(folder, readdirSync(folder)[0]))).toEqual([{ wallTime: 0, step: 0, scalars }]);
});

test("a run that is resumed or starts in the same second has a file of its own", async () => {
  const folder = join(directory, "resumed");
  const monitors = [0, 1, 2].map(() => tensorboardMonitor({ directory: folder, now: () => 1000 }));
  for (const [step, monitor] of monitors.entries()) monitor.record({ type: "step-end", step, metrics: { a: step } });
  for (const monitor of monitors) await monitor.close?.();
  const files = readdirSync(folder).sort();
  expect(files).toHaveLength(3);
  expect(files.flatMap((file) => scalarsIn(join(folder, file)))).toMatchObject([{ step: 0 }, { step: 1 }, { step: 2 }]);
});

test("a folder that cannot be made is refused when the monitor is made", () => {
  expect(() => tensorboardMonitor({ directory: "/dev/null/run" })).toThrow(/ENOTDIR|EEXIST/);
});

/** Written from event.proto and summary.proto, apart from the encoder. */
function readEvent(bytes: Uint8Array): object {
  const reader = new BinaryReader(bytes);
  const event: Record<string, unknown> = {};
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (field === 1) event.wallTime = reader.double();
    else if (field === 2) event.step = Number(reader.int64());
    else if (field === 3) event.version = reader.string();
    else if (field === 5) event.scalars = readSummary(reader.bytes());
    else reader.skip(type);
  }
  return event;
}

function readSummary(bytes: Uint8Array): Record<string, number> {
  const reader = new BinaryReader(bytes);
  const scalars: Record<string, number> = {};
  while (reader.pos < reader.len) {
    reader.tag();
    const value = new BinaryReader(reader.bytes());
    value.tag();
    const tag = value.string();
    value.tag();
    scalars[tag] = value.float();
  }
  return scalars;
}
