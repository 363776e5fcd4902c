import { expect, test } from "vitest";
import type { Monitor } from "../monitor/monitor.ts";
import type { RunEvent } from "../schema/run-event.ts";
import { Monitors } from "./monitors.ts";

const step: RunEvent = { type: "step-end", step: 0, metrics: {} };

/** Remembers what it was told; `fail` may throw. */
function recorder(name: string, fail: (event: RunEvent) => void = () => {}) {
  const told: string[] = [];
  const monitor: Monitor = {
    name,
    record(event) {
      told.push(event.type === "warning" ? event.message : event.type);
      fail(event);
    },
    close: () => void told.push("close"),
  };
  return { told, monitor };
}

const fullDisk = () => {
  throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
};

test("a monitor that throws is reported once to the others and left out", async () => {
  const broken = recorder("jsonl", fullDisk);
  const sound = recorder("console");
  const monitors = new Monitors([broken.monitor, sound.monitor]);
  for (let i = 0; i < 3; i++) monitors.record(step);
  expect(broken.told).toEqual(["step-end"]);
  await monitors.close();
  expect(broken.told).toEqual(["step-end", "close"]);
  expect(sound.told.filter((each) => each.includes("jsonl"))).toEqual([
    "monitor jsonl failed and is left out: ENOSPC: no space left on device, write",
  ]);
  expect(sound.told.filter((each) => each === "step-end")).toHaveLength(3);
});

test("two that throw are each reported once", () => {
  const sound = recorder("console");
  const monitors = new Monitors([recorder("a", fullDisk).monitor, recorder("b", fullDisk).monitor, sound.monitor]);
  monitors.record(step);
  monitors.record(step);
  const warnings = sound.told.filter((each) => each.startsWith("monitor"));
  expect(warnings.map((each) => each.split(" ")[1]).sort()).toEqual(["a", "b"]);
});

test("whatever is thrown is reported", () => {
  const sound = recorder("console");
  const odd = recorder("odd", () => {
    throw Object.create(null);
  });
  new Monitors([odd.monitor, sound.monitor]).record(step);
  expect(sound.told.join()).toContain("monitor odd failed");
});

test("one whose rollouts fail is left out too", () => {
  const sound = recorder("console");
  const broken: Monitor = { ...recorder("otel").monitor, recordRollout: fullDisk };
  const monitors = new Monitors([broken, sound.monitor]);
  monitors.recordRollout({
    id: "0",
    task: { id: "t", seed: 0, data: {} },
    trajectories: [],
    stop: "completed",
    timing: { totalMs: 1 },
  });
  expect(sound.told.join()).toContain("monitor otel failed");
});

test("all are closed, also after one that cannot be, and none is told anything after it was closed", async () => {
  const [first, last] = [recorder("first"), recorder("last")];
  const broken: Monitor = { ...recorder("broken").monitor, close: () => Promise.reject(new Error("EIO")) };
  const monitors = new Monitors([first.monitor, broken, last.monitor]);
  await monitors.close();
  expect(first.told).toEqual(["close"]);
  expect(last.told).toEqual(["monitor broken failed and is left out: EIO", "close"]);
});
