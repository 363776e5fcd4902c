import { expect, test } from "vitest";
import { boxesMarkdown, boxesPages, missedGoals, readBoxes } from "./report.ts";

const about = {
  date: "2026-01-01T00:00:00.000Z",
  command: "npm run bench -- boxes",
  commit: "abc",
  processor: "P",
  cores: 2,
  memoryBytes: 2 ** 30,
  system: "linux",
  loadBefore: 0,
};
const all = { start_ms_p50: 19, cold_start_ms_p50: 40, calls_per_s: 301, held: 500, host_rss_mb_per_box: 3.5 };
const hand = { python: { cold_start_ms_p50: 30, calls_per_s: 80 }, node: { cold_start_ms_p50: 60, calls_per_s: 40 } };
const record = { about, python: all, node: all, plainBwrap: hand, restore_ms_p50: 33 };

test("goals that are reached are not told; those missed and those not measured are, each by its figure", () => {
  expect(missedGoals(readBoxes(record))).toEqual([]);
  const { held: _, ...rest } = all;
  expect(missedGoals(readBoxes({ ...record, node: { ...rest, start_ms_p50: 31, calls_per_s: 250 } }))).toEqual([
    "Node: the start of a ready box is 31, 20 is wanted.",
    "Node: calls a second is 250, 300 is wanted.",
    "Node: boxes held is not in this record.",
  ]);
});

test("in a record from before boxes could be ready, starts are cold and Node had a process for each call", () => {
  const old = { calls_per_s: 267, held: 500, host_rss_mb_per_box: 3.8, start_ms_p50: 85 };
  const before = { start_ms_p50: 90, calls_per_s: 43 };
  const node = { start_ms_p50: 159, calls_per_s: 26 };
  const page = boxesMarkdown({ ...record, python: old, node, plainBwrap: { python: before, node: before } });
  expect(page).toContain("| box, warm Python |  | 85 | 267 | 500 | 3.80 |");
  expect(page).toContain("| box, a Node for each call, started ahead |  | 159 | 26.0 |");
  expect(page).not.toContain("one Node for its calls |");
  expect(page).toContain("Python: the start of a ready box is not in this record.");
});

test("a busy machine and what was not measured beside it are told", () => {
  const page = boxesMarkdown({
    ...record,
    about: { ...about, loadBefore: 8.8 },
    container: { notMeasured: "`podman run image` failed (no such image)" },
  });
  expect(page).toContain("busy with other work (load 8.8)");
  expect(page).toContain("Not measured beside it: `podman run image` failed (no such image).");
  const run = { ...hand, command: "podman run" };
  expect(boxesMarkdown({ ...record, container: run })).toContain("| podman run, node |  | 60 | 40");
});

test("without a record the page says that there is none", () => {
  expect(boxesPages("/nowhere")["docs/results/boxes.md"]).toContain("There is no record yet");
});
