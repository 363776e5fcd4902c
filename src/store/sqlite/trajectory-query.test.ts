import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createRng } from "../../random.ts";
import { fakeTask, fakeTrajectory } from "../../schema/fake-trajectory.ts";
import type { TrajectoryFilter } from "../store.ts";
import { type Database, openWritable } from "./database.ts";
import { createRun } from "./run-schema.ts";
import { countQuery, pageQuery, type Query, rewardProbe } from "./trajectory-query.ts";
import { recordGroup } from "./trajectory-tables.ts";

const directory = mkdtempSync(join(tmpdir(), "ludus-query-"));
let database: Database;

beforeAll(() => {
  database = openWritable(join(directory, "run.sqlite"));
  createRun(database);
  const rng = createRng(1);
  database.transaction(() => {
    for (let step = 0; step < 20; step++) {
      const trajectories = Array.from({ length: 10 }, () => fakeTrajectory(rng));
      recordGroup(database, step, { group: { task: fakeTask(rng, "task-0"), trajectories }, split: "train" });
    }
  });
});
afterAll(() => {
  database.close();
  rmSync(directory, { recursive: true });
});

function planOf({ sql, parameters }: Query): string {
  const rows = database.all(`EXPLAIN QUERY PLAN ${sql}`, ...parameters);
  return rows.map((row) => row.text("detail")).join("; ");
}

const byKey = "SEARCH t USING INTEGER PRIMARY KEY";
const leaders: [string, TrajectoryFilter, string][] = [
  ["a range of steps", { steps: { from: 3, to: 9 } }, `${byKey} (rowid>? AND rowid<?)`],
  ["a rollout", { rollout: "r", success: true }, "INDEX trajectories_rollout (rollout=?"],
  ["a task", { taskId: "t", stop: "completed" }, "INDEX trajectories_task (task_id=?"],
  ["a stop", { stop: "completed", success: true, split: "train" }, "INDEX trajectories_stop (stop=?"],
  ["success", { success: true, reward: { min: 0 } }, "INDEX trajectories_success (success=?"],
  ["a split", { split: "eval", role: "agent" }, "INDEX trajectories_split (split=?"],
  ["a tool", { tool: "search", success: true, taskId: "t" }, "SEARCH k USING PRIMARY KEY (tool=?"],
  ["text", { text: "answer", tool: "search", stop: "completed" }, "SCAN search VIRTUAL TABLE INDEX"],
];

test.each(leaders)("a page for %s follows an index in order and sorts nothing", (_name, filter, expected) => {
  for (const order of ["newest", "oldest"] as const) {
    for (const page of [{ order }, { order, after: 5_000_000 }]) {
      const plan = planOf(pageQuery(filter, page, false));
      expect(plan).toContain(expected);
      expect(plan).not.toContain("TEMP B-TREE");
      expect(plan.replace("SCAN search VIRTUAL TABLE", "")).not.toContain("SCAN");
    }
  }
});

test.each(leaders)("the next page for %s starts where the last one ended, without passing over it", (_name, filter) => {
  const plan = planOf(pageQuery({ ...filter, steps: {} }, { after: 5_000_000 }, false));
  // "<" in the text index's plan is its bound on keys
  expect(plan).toMatch(/rowid<\?|trajectory_id<\?|VIRTUAL TABLE INDEX \d+:.*</);
});

test.each(leaders)("counting for %s looks at no more than the index leads to", (_name, filter, expected) => {
  const plan = planOf(countQuery(filter)).replace("COVERING ", "");
  expect(plan).toContain(expected.includes("trajectories_success") ? "INDEX trajectories_success" : expected);
});

test("without a filter pages follow the keys, and counting reads the smallest index", () => {
  expect(planOf(pageQuery({}, {}, false))).toBe("SCAN t");
  expect(planOf(pageQuery({}, { after: 7 }, false))).toBe(`${byKey} (rowid<?)`);
  expect(planOf(countQuery({}))).toContain("USING COVERING INDEX");
});

test("an annotation leads to what has it, in order, unless a task or rollout is meant", () => {
  const lead = "SEARCH a USING PRIMARY KEY (name=?";
  for (const hint of [true, "plan"]) {
    const filter = { annotations: { other: false, hint }, stop: "completed", success: true } as const;
    expect(planOf(pageQuery(filter, {}, false))).toContain(`${lead}); ${byKey} (rowid=?)`);
    const next = planOf(pageQuery(filter, { after: 7 }, false));
    expect(next).toContain(`${lead} AND id<?); ${byKey} (rowid=?)`);
    expect(next).not.toContain("TEMP B-TREE");
  }
  const annotations = { hint: true };
  expect(planOf(pageQuery({ annotations, taskId: "t" }, {}, false))).toContain("INDEX trajectories_task (task_id=?");
  const without = pageQuery({ annotations: { hint: false } }, { after: 7 }, false);
  expect(planOf(without)).toContain(`${byKey} (rowid<?)`);
});

test("rewards alone are looked up where few match, and met on the way where many do", () => {
  const filter = { reward: { min: 0.9 } };
  expect(planOf(rewardProbe(filter)!)).toContain("USING COVERING INDEX trajectories_reward (reward>? AND reward<?)");
  expect(planOf(pageQuery(filter, {}, true))).toContain("USING INDEX trajectories_reward (reward>? AND reward<?)");
  expect(planOf(pageQuery(filter, { after: 7 }, false))).toBe(`${byKey} (rowid<?)`);
  expect(planOf(countQuery(filter))).toContain("USING COVERING INDEX trajectories_reward");
  expect(rewardProbe({ ...filter, stop: "completed" })).toBeUndefined();
});

test.each([
  [
    "members of a group",
    "SELECT * FROM trajectories WHERE group_id = 1 ORDER BY id",
    "trajectories_group (group_id=?)",
  ],
  [
    "a series",
    "SELECT value FROM metrics WHERE name_id = 1 AND step BETWEEN 1 AND 2",
    "PRIMARY KEY (name_id=? AND step>?",
  ],
  ["events after", "SELECT * FROM events WHERE id > 1 ORDER BY id LIMIT 1", "INTEGER PRIMARY KEY (rowid>?)"],
  ["the newest state", "SELECT value FROM state WHERE key = 'a' ORDER BY step DESC LIMIT 1", "PRIMARY KEY (key=?)"],
  ["the latest step of metrics", "SELECT max(step) FROM metrics", "metrics_step"],
  ["forgetting metrics", "DELETE FROM metrics WHERE step > 1", "metrics_step (step>?)"],
  ["forgetting events", "DELETE FROM events WHERE step > 1", "events_step (step>?)"],
])("%s uses an index and sorts nothing", (_name, sql, expected) => {
  const plan = planOf({ sql, parameters: [] });
  expect(plan).toContain(expected);
  expect(plan).not.toContain("TEMP B-TREE");
});
