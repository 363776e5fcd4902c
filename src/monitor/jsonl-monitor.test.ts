import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { runEventFromJson } from "../schema/run-event-json.ts";
import { jsonlMonitor } from "./jsonl-monitor.ts";
import { monitorContract } from "./monitor.contract.ts";

const directory = mkdtempSync(join(tmpdir(), "ludus-jsonl-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

let files = 0;
monitorContract("jsonlMonitor", () => jsonlMonitor({ file: join(directory, `${files++}.jsonl`) }));

test("each event is a line that can be read back, also where a number is none", async () => {
  const file = join(directory, "events.jsonl");
  const events = [
    { type: "run-start", name: "copy" },
    { type: "step-end", step: 0, metrics: { "rollout/reward": 0.5, "update/gradient-norm": Number.NaN } },
    { type: "eval-end", step: 0, metrics: { "eval/reward": Number.POSITIVE_INFINITY } },
    { type: "run-end", reason: "finished" },
  ] as const;
  let time = 1000;
  const first = jsonlMonitor({ file, now: () => time++ });
  for (const event of events.slice(0, 2)) first.record(event);
  await first.close?.();
  const second = jsonlMonitor({ file, now: () => time++ });
  for (const event of events.slice(2)) second.record(event);
  await second.close?.();

  const lines = readFileSync(file, "utf8").trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line).time)).toEqual([1000, 1001, 1002, 1003]);
  expect(lines.map((line) => runEventFromJson(JSON.parse(line)))).toEqual(events);
});

test("runs that write at the same time to files of their own do not mix, and to one file they mix whole lines", async () => {
  const shared = join(directory, "shared.jsonl");
  const monitors = ["a", "b"].map((name) => ({ name, monitor: jsonlMonitor({ file: shared }) }));
  for (let step = 0; step < 50; step++) {
    for (const { name, monitor } of monitors)
      monitor.record({ type: "warning", message: `${name}${step} ${"x".repeat(9000)}` });
  }
  for (const { monitor } of monitors) await monitor.close?.();
  const lines = readFileSync(shared, "utf8").trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line).message.split(" ")[0])).toEqual(
    Array.from({ length: 100 }, (_, i) => `${i % 2 === 0 ? "a" : "b"}${Math.floor(i / 2)}`),
  );
});

test("a folder that is not there is refused when the monitor is made, not in the middle of a run", () => {
  expect(() => jsonlMonitor({ file: join(directory, "none/events.jsonl") })).toThrow("ENOENT");
});

// Linux has a file for it
test.runIf(existsSync("/dev/full"))("a full disk throws, so that the run leaves the monitor out", async () => {
  const monitor = jsonlMonitor({ file: "/dev/full" });
  expect(() => monitor.record({ type: "run-start", name: "run" })).toThrow("ENOSPC");
  await monitor.close?.();
});

test("an event after the end is refused and reaches no file", async () => {
  const [first, second] = [join(directory, "first.jsonl"), join(directory, "second.jsonl")];
  const closed = jsonlMonitor({ file: first });
  await closed.close?.();
  // takes the handle that the first gave back
  const other = jsonlMonitor({ file: second });
  expect(() => closed.record({ type: "run-start", name: "late" })).toThrow(
    /monitor-closed: .*a new monitor for every run/,
  );
  await other.close?.();
  expect([readFileSync(first, "utf8"), readFileSync(second, "utf8")]).toEqual(["", ""]);
});
