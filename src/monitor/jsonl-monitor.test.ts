import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { runEventFromJson } from "../schema/run-event-json.ts";
import { jsonlMonitor } from "./jsonl-monitor.ts";

const directory = mkdtempSync(join(tmpdir(), "ludus-jsonl-"));
afterEach(() => rmSync(directory, { recursive: true, force: true }));

test("each event is a line that can be read back, also where a number is none", async () => {
  const file = join(directory, "events.jsonl");
  const events = [
    { type: "run-start", name: "copy" },
    { type: "step-end", step: 0, metrics: { "rollout/reward": 0.5, "update/gradient-norm": Number.NaN } },
    { type: "rollout-end", rollout: "0/1", stop: "completed", reward: Number.POSITIVE_INFINITY },
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
