import { encodeTrajectory, type RunEvent, toLosslessJson } from "../../schema/index.ts";
import { encodeAdvantages } from "../advantage-bytes.ts";
import { annotationKindsOf } from "../annotation-kinds.ts";
import { searchableText, searchWords } from "../search-text.ts";
import { firstKey, keysPerStep, nextKey } from "../step-keys.ts";
import { calledTools, checkWrites, isKeptOnce, storedJson } from "../step-writes.ts";
import type { GroupWrite, StepWrites } from "../store.ts";
import type { Query } from "./query.ts";
import { termsOf } from "./trajectory-query.ts";
import { numberIn, plain, real, textIn } from "./values.ts";

/** What an append writes, made before anything is sent: it is sent again as it was when a connection is cut. */
export type Write = (query: Query, run: number) => Promise<void>;

export function appendWrite(step: number, writes: StepWrites, now: () => number): Write {
  checkWrites(step, writes);
  const metrics = Object.entries(writes.metrics ?? {});
  const events = (writes.events ?? []).map((event) => ({ event, text: toLosslessJson(event), time: now() }));
  const state = Object.entries(writes.state ?? {}).map(
    ([key, value]) => [key, storedJson(`state "${key}"`, value)] as const,
  );
  const config = writes.config === undefined ? undefined : storedJson("the configuration", writes.config);
  const groups = (writes.groups ?? []).map(preparedGroup);
  const { removeGroups = [], pruneStateBefore } = writes;
  const truncate = writes.truncateAfter === undefined ? undefined : truncateWrite(writes.truncateAfter);
  return async (query, run) => {
    await truncate?.(query, run);
    if (removeGroups.length > 0) await removeGroupsOf(query, run, removeGroups);
    if (metrics.length > 0) await insertMetrics(query, run, step, metrics);
    if (events.length > 0) await insertEvents(query, run, step, events);
    if (groups.length > 0) await insertGroups(query, run, step, groups);
    if (state.length > 0) {
      await query(
        `INSERT INTO state(run, key, step, value) SELECT $1, key, $2, value FROM unnest($3::text[], $4::text[]) AS s(key, value)
         ON CONFLICT (run, key, step) DO UPDATE SET value = excluded.value`,
        [run, step, state.map(([key]) => key), state.map(([, value]) => value)],
      );
    }
    if (config !== undefined) await query("UPDATE runs SET config = $2 WHERE id = $1", [run, config]);
    if (pruneStateBefore !== undefined) {
      await query(
        `DELETE FROM state WHERE run = $1 AND step <
           (SELECT max(n.step) FROM state n WHERE n.run = $1 AND n.key = state.key AND n.step <= $2)`,
        [run, pruneStateBefore],
      );
    }
  };
}

export function truncateWrite(step: number): Write {
  const beyond = firstKey(step + 1); // -1 forgets all
  return async (query, run) => {
    await query("DELETE FROM metrics WHERE run = $1 AND step > $2", [run, step]);
    await query("DELETE FROM events WHERE run = $1 AND (step > $2 OR type = 'run-end')", [run, step]);
    await query("DELETE FROM state WHERE run = $1 AND step > $2", [run, step]);
    for (const table of ["trajectory_words", "trajectory_bytes", "trajectories", "groups"]) {
      await query(`DELETE FROM ${table} WHERE run = $1 AND id >= $2`, [run, beyond]);
    }
  };
}

async function removeGroupsOf(query: Query, run: number, keys: readonly number[]): Promise<void> {
  const members = "SELECT id FROM trajectories WHERE run = $1 AND group_id = ANY($2::bigint[])";
  for (const table of ["trajectory_words", "trajectory_bytes"]) {
    await query(`DELETE FROM ${table} WHERE run = $1 AND id IN (${members})`, [run, keys]);
  }
  await query("DELETE FROM trajectories WHERE run = $1 AND group_id = ANY($2::bigint[])", [run, keys]);
  await query("DELETE FROM groups WHERE run = $1 AND id = ANY($2::bigint[])", [run, keys]);
}

async function insertMetrics(query: Query, run: number, step: number, metrics: readonly (readonly [string, number])[]) {
  await query(
    `INSERT INTO metrics(run, name, step, value)
     SELECT $1, name, $2, value FROM unnest($3::text[], $4::float8[]) AS m(name, value)
     ON CONFLICT (run, name, step) DO UPDATE SET value = excluded.value`,
    [run, step, metrics.map(([name]) => name), metrics.map(([, value]) => real(value))],
  );
}

interface EventRow {
  readonly event: RunEvent;
  readonly text: string;
  readonly time: number;
}

async function insertEvents(query: Query, run: number, step: number, events: readonly EventRow[]): Promise<void> {
  const once = events.filter(({ event }) => isKeptOnce(event)).map(({ text }) => text);
  const known = new Set<string>();
  if (once.length > 0) {
    const there = "SELECT event FROM events WHERE run = $1 AND step = $2 AND event = ANY($3::text[])";
    for (const row of await query(there, [run, step, once])) known.add(textIn(row, "event"));
  }
  const added = events.filter(({ event, text }) => {
    if (!isKeptOnce(event)) return true;
    const isNew = !known.has(text);
    known.add(text);
    return isNew;
  });
  await query(
    `INSERT INTO events(run, id, step, time, type, event)
     SELECT $1, coalesce((SELECT max(id) FROM events WHERE run = $1), 0) + place, $2, time, type, event
     FROM unnest($3::float8[], $4::text[], $5::text[]) WITH ORDINALITY AS e(time, type, event, place)`,
    [run, step, added.map(({ time }) => time), added.map(({ event }) => event.type), added.map(({ text }) => text)],
  );
}

function preparedGroup({ group, split, advantages }: GroupWrite) {
  return {
    split: plain(split),
    taskId: plain(group.task.id),
    task: toLosslessJson(group.task),
    trajectories: group.trajectories.map((trajectory) => {
      const { id, rollout, taskId, role, stop, weight, score, turns, tokens_T, mask_T } = trajectory;
      const tools = calledTools(turns).map(plain);
      const kinds = [...annotationKindsOf(trajectory)].map(([name, kind]) => [plain(name), plain(kind)] as const);
      const words = searchWords(searchableText(trajectory));
      const given = advantages?.get(id);
      return {
        name: plain(id),
        task_id: plain(taskId),
        rollout: plain(rollout),
        role: plain(role),
        stop,
        reward: real(score.total),
        success: score.success,
        turns: turns.length,
        tokens: tokens_T.length,
        weight: real(weight),
        tools: JSON.stringify(tools),
        annotations: kinds.length === 0 ? null : JSON.stringify(Object.fromEntries(kinds)),
        bytes: buffer(encodeTrajectory(trajectory)),
        advantages: given === undefined ? null : buffer(encodeAdvantages(mask_T, given)),
        words: ` ${words.join(" ")} `,
        terms: termsOf(
          words,
          tools,
          kinds.map(([name]) => name),
        ),
      };
    }),
  };
}

function buffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

async function insertGroups(
  query: Query,
  run: number,
  step: number,
  groups: readonly ReturnType<typeof preparedGroup>[],
) {
  const [first, beyond] = [firstKey(step), firstKey(step) + keysPerStep];
  const [last] = await query(
    `SELECT (SELECT max(id) FROM groups WHERE run = $1 AND id >= $2 AND id < $3) AS groups,
            (SELECT max(id) FROM trajectories WHERE run = $1 AND id >= $2 AND id < $3) AS trajectories`,
    [run, first, beyond],
  );
  const [lastGroup, lastTrajectory] = [numberIn(last!, "groups"), numberIn(last!, "trajectories")];
  let groupKey = Number.isNaN(lastGroup) ? undefined : lastGroup;
  let key = Number.isNaN(lastTrajectory) ? undefined : lastTrajectory;
  for (const { split, taskId, task, trajectories } of groups) {
    groupKey = nextKey("groups", step, groupKey);
    await query("INSERT INTO groups(run, id, split, task_id, task) VALUES ($1, $2, $3, $4, $5)", [
      ...[run, groupKey, split, taskId, task],
    ]);
    const rows = trajectories.map((each) => {
      key = nextKey("trajectories", step, key);
      return { id: key, ...each };
    });
    if (rows.length > 0) await insertTrajectories(query, run, { groupKey, split }, rows);
  }
}

type TrajectoryRow = { readonly id: number } & ReturnType<typeof preparedGroup>["trajectories"][number];

const columns = [
  ["id", "bigint"],
  ["name", "text"],
  ["task_id", "text"],
  ["rollout", "text"],
  ["role", "text"],
  ["stop", "text"],
  ["reward", "float8"],
  ["success", "boolean"],
  ["turns", "integer"],
  ["tokens", "integer"],
  ["weight", "float8"],
  ["tools", "text"],
  ["annotations", "text"],
] as const;

const names = columns.map(([name]) => name).join(", ");
const arrays = columns.map(([, type], i) => `$${i + 4}::${type}[]`).join(", ");

/** The members of one group, a statement for each table. */
async function insertTrajectories(
  query: Query,
  run: number,
  { groupKey, split }: { groupKey: number; split: string },
  rows: readonly TrajectoryRow[],
): Promise<void> {
  await query(
    `INSERT INTO trajectories(run, group_id, split, ${names})
     SELECT $1, $2, $3, ${names} FROM unnest(${arrays}) AS t(${names})`,
    [run, groupKey, split, ...columns.map(([name]) => rows.map((row) => row[name]))],
  );
  const ids = rows.map(({ id }) => id);
  await query(
    `INSERT INTO trajectory_bytes(run, id, bytes, advantages)
     SELECT $1, id, bytes, advantages FROM unnest($2::bigint[], $3::bytea[], $4::bytea[]) AS b(id, bytes, advantages)`,
    [run, ids, rows.map(({ bytes }) => bytes), rows.map(({ advantages }) => advantages)],
  );
  // arrays of arrays have to be rectangles: terms travel as one text each
  await query(
    `INSERT INTO trajectory_words(run, id, words, terms)
     SELECT $1, id, words, string_to_array(terms, E'\\n') FROM unnest($2::bigint[], $3::text[], $4::text[]) AS w(id, words, terms)`,
    [run, ids, rows.map(({ words }) => words), rows.map(({ terms }) => terms.join("\n"))],
  );
}
