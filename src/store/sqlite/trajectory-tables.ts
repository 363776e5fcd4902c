import { defined } from "../../defined.ts";
import { LudusError } from "../../errors.ts";
import {
  decodeTrajectory,
  encodeTrajectory,
  fromLosslessJson,
  infrastructureStops,
  policyStops,
  type StopReason,
  type Task,
  type Trajectory,
  taskFromJson,
  toLosslessJson,
} from "../../schema/index.ts";
import { searchableText } from "../search-text.ts";
import { firstKey, keysPerStep, nextKey, stepOf } from "../step-keys.ts";
import { calledTools } from "../step-writes.ts";
import type {
  GroupWrite,
  PageOptions,
  StoredGroup,
  StoredTrajectory,
  TrajectoryFilter,
  TrajectoryPage,
  TrajectorySummary,
} from "../store.ts";
import { recordAdvantages, advantages as storedAdvantages } from "./advantage-table.ts";
import { annotationKinds, recordAnnotations } from "./annotation-table.ts";
import type { Database, Row } from "./database.ts";
import { readStored } from "./sqlite-error.ts";
import { countQuery, pageQuery, rewardProbe } from "./trajectory-query.ts";

export function recordGroup(database: Database, step: number, { group, split, advantages }: GroupWrite): void {
  const { task, trajectories } = group;
  const groupKey = nextKey("groups", step, lastKey(database, "groups", step));
  const insert = "INSERT INTO groups(id, split, task_id, task) VALUES (?, ?, ?, ?)";
  database.run(insert, groupKey, split, task.id, toLosslessJson(task));
  let last = lastKey(database, "trajectories", step);
  for (const trajectory of trajectories) {
    const key = nextKey("trajectories", step, last);
    recordTrajectory(database, key, groupKey, trajectory, split);
    last = key;
    recordAnnotations(database, key, trajectory);
    const advantages_T = advantages?.get(trajectory.id);
    if (advantages_T !== undefined) recordAdvantages(database, key, trajectory, advantages_T);
  }
}

function recordTrajectory(
  database: Database,
  key: number,
  groupKey: number,
  trajectory: Trajectory,
  split: string,
): void {
  const { id, taskId, rollout, role, stop, score, turns, tokens_T, weight } = trajectory;
  const tools = calledTools(turns);
  database.run(
    `INSERT INTO trajectories(
       id, group_id, split, name, task_id, rollout, role, stop, reward, success, turns, tokens, weight, tools)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ...[key, groupKey, split, id, taskId, rollout, role, stop, Number.isNaN(score.total) ? null : score.total],
    ...[Number(score.success), turns.length, tokens_T.length, weight, JSON.stringify(tools)],
  );
  database.run("INSERT INTO trajectory_bytes VALUES (?, ?)", key, encodeTrajectory(trajectory));
  for (const tool of tools) database.run("INSERT INTO trajectory_tools VALUES (?, ?)", tool, key);
  database.run("INSERT INTO search(rowid, text) VALUES (?, ?)", key, searchableText(trajectory));
}

function lastKey(database: Database, table: "groups" | "trajectories", step: number): number | undefined {
  const [first, beyond] = [firstKey(step), firstKey(step) + keysPerStep];
  const last = database.number(`SELECT max(id) FROM ${table} WHERE id >= ? AND id < ?`, first, beyond);
  return Number.isNaN(last) ? undefined : last;
}

export function trajectories(database: Database, filter: TrajectoryFilter, page: Partial<PageOptions>): TrajectoryPage {
  const probe = rewardProbe(filter);
  const isRewardRare = probe !== undefined && database.number(probe.sql, ...probe.parameters) <= probe.limit;
  const { sql, parameters, limit } = pageQuery(filter, page, isRewardRare);
  const found = database.all(sql, ...parameters).map(summaries(database));
  const shown = found.slice(0, limit);
  return { trajectories: shown, ...defined({ next: found.length > limit ? shown.at(-1)!.key : undefined }) };
}

export function countTrajectories(database: Database, filter: TrajectoryFilter): number {
  const { sql, parameters } = countQuery(filter);
  return database.number(sql, ...parameters);
}

export function trajectory(database: Database, key: number): StoredTrajectory {
  const row = database.first("SELECT * FROM trajectories WHERE id = ?", key);
  if (row === undefined) return missing(database, "trajectory", key);
  const found = summaries(database)(row);
  const task = taskOf(database, found.group);
  const whole = decoded(database, key);
  const advantages_T = storedAdvantages(database, key, whole);
  return {
    summary: found,
    task,
    trajectory: whole,
    ...defined({ advantages_T }),
  };
}

export function group(database: Database, key: number): StoredGroup {
  const row = database.first("SELECT split FROM groups WHERE id = ?", key);
  if (row === undefined) return missing(database, "group", key);
  const members = database
    .all("SELECT * FROM trajectories WHERE group_id = ? ORDER BY id", key)
    .map(summaries(database));
  return {
    step: stepOf(key),
    split: row.text("split"),
    task: taskOf(database, key),
    members,
    trajectories: members.map((member) => decoded(database, member.key)),
  };
}

/** With its trajectories and all that belongs to them. */
export function removeGroup(database: Database, key: number): void {
  for (const row of database.all("SELECT * FROM trajectories WHERE group_id = ?", key)) {
    const { key: id, tools } = summary(row);
    database.run("DELETE FROM search WHERE rowid = ?", id);
    // by tool: that is how the table is ordered
    for (const tool of tools)
      database.run("DELETE FROM trajectory_tools WHERE tool = ? AND trajectory_id = ?", tool, id);
    for (const table of ["trajectory_bytes", "trajectory_annotations", "trajectory_advantages", "trajectories"]) {
      database.run(`DELETE FROM ${table} WHERE id = ?`, id);
    }
  }
  database.run("DELETE FROM groups WHERE id = ?", key);
}

export function truncateTrajectories(database: Database, step: number): void {
  const beyond = firstKey(step + 1);
  database.run("DELETE FROM search WHERE rowid >= ?", beyond);
  database.run("DELETE FROM trajectory_tools WHERE trajectory_id >= ?", beyond);
  for (const table of ["trajectory_bytes", "trajectories", "groups"]) {
    database.run(`DELETE FROM ${table} WHERE id >= ?`, beyond);
  }
}

function taskOf(database: Database, groupKey: number): Task {
  const row = database.first("SELECT task FROM groups WHERE id = ?", groupKey);
  if (row === undefined) return missing(database, "group", groupKey);
  return row.parsed("task", (text) => taskFromJson(fromLosslessJson(text)));
}

function decoded(database: Database, key: number): Trajectory {
  const row = database.first("SELECT bytes FROM trajectory_bytes WHERE id = ?", key);
  if (row === undefined) return missing(database, "trajectory", key);
  return readStored(database.file, `trajectory ${key}`, () => decodeTrajectory(row.bytes("bytes")));
}

const stops: ReadonlySet<string> = new Set([...policyStops, ...infrastructureStops]);
const isStop = (text: string): text is StopReason => stops.has(text);

function summaries(database: Database): (row: Row) => TrajectorySummary {
  return (row) => {
    const annotations = annotationKinds(database, row.number("id"));
    return { ...summary(row), ...defined({ annotations }) };
  };
}

function summary(row: Row): TrajectorySummary {
  const key = row.number("id");
  return {
    key,
    group: row.number("group_id"),
    step: stepOf(key),
    split: row.text("split"),
    id: row.text("name"),
    taskId: row.text("task_id"),
    rollout: row.text("rollout"),
    role: row.text("role"),
    stop: row.parsed("stop", (text) => {
      if (isStop(text)) return text;
      throw new TypeError(`it holds "${text}"`);
    }),
    reward: row.number("reward"),
    success: row.number("success") === 1,
    turns: row.number("turns"),
    tokens: row.number("tokens"),
    weight: row.number("weight"),
    tools: row.parsed("tools", (text) => {
      const tools: unknown = JSON.parse(text);
      if (Array.isArray(tools) && tools.every((tool) => typeof tool === "string")) return tools;
      throw new TypeError("it is no list of names");
    }),
  };
}

function missing(database: Database, what: "trajectory" | "group", key: number): never {
  throw new LudusError(`no-such-${what}`, {
    got: `${what} ${key} in ${database.file}`,
    expected: "the key of one that is there",
    hint: "Take keys from a page of trajectories; a resumed run forgets what came after its checkpoint.",
  });
}
