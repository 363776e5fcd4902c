import { defined } from "../../defined.ts";
import { LudusError } from "../../errors.ts";
import {
  decodeTrajectory,
  fromLosslessJson,
  infrastructureStops,
  policyStops,
  runEventFromJson,
  type StopReason,
  taskFromJson,
} from "../../schema/index.ts";
import { decodeAdvantages } from "../advantage-bytes.ts";
import { joinedPoints } from "../metric-series.ts";
import { stepOf } from "../step-keys.ts";
import type {
  EventOptions,
  MetricPoint,
  PageOptions,
  SeriesOptions,
  StoredEvent,
  StoredGroup,
  StoredTrajectory,
  TrajectoryFilter,
  TrajectoryPage,
  TrajectorySummary,
} from "../store.ts";
import type { Query, Row } from "./query.ts";
import { countStatement, pageStatement } from "./trajectory-query.ts";
import { bytesIn, numberIn, parsedIn, readStored, textIn } from "./values.ts";

/** The questions of a reader, each one statement: it sees whole appends. */
export class RunQueries {
  readonly #query: Query;
  readonly #run: number;

  constructor(query: Query, run: number) {
    this.#query = query;
    this.#run = run;
  }

  async latestStep(): Promise<number | undefined> {
    const [row] = await this.#query(
      `SELECT greatest((SELECT max(step) FROM metrics WHERE run = $1), (SELECT max(step) FROM events WHERE run = $1),
         (SELECT max(step) FROM state WHERE run = $1)) AS step, (SELECT max(id) FROM groups WHERE run = $1) AS last`,
      [this.#run],
    );
    const steps = [numberIn(row!, "step"), stepOf(numberIn(row!, "last"))].filter((step) => !Number.isNaN(step));
    return steps.length === 0 ? undefined : Math.max(...steps);
  }

  async config(): Promise<unknown> {
    const [row] = await this.#query("SELECT config FROM runs WHERE id = $1 AND config IS NOT NULL", [this.#run]);
    return row === undefined ? undefined : parsedIn(row, "config", fromLosslessJson);
  }

  async state(key: string): Promise<unknown> {
    const newest = "SELECT value FROM state WHERE run = $1 AND key = $2 ORDER BY step DESC LIMIT 1";
    const [row] = await this.#query(newest, [this.#run, key]);
    return row === undefined ? undefined : parsedIn(row, "value", fromLosslessJson);
  }

  async metricNames(): Promise<string[]> {
    // one look into the index for each name: a run has many values of few names
    const rows = await this.#query(
      `WITH RECURSIVE names(name) AS (
         (SELECT name FROM metrics WHERE run = $1 ORDER BY name LIMIT 1)
         UNION ALL
         SELECT (SELECT m.name FROM metrics m WHERE m.run = $1 AND m.name > n.name ORDER BY m.name LIMIT 1)
         FROM names n WHERE n.name IS NOT NULL)
       SELECT name FROM names WHERE name IS NOT NULL`,
      [this.#run],
    );
    return rows.map((row) => textIn(row, "name"));
  }

  async series(name: string, options: SeriesOptions): Promise<MetricPoint[]> {
    const { from = 0, to = Number.MAX_SAFE_INTEGER, maxPoints } = options;
    const rows = await this.#query(
      "SELECT step, value FROM metrics WHERE run = $1 AND name = $2 AND step BETWEEN $3 AND $4 ORDER BY step",
      [this.#run, name, Math.ceil(from), Math.min(Math.floor(to), Number.MAX_SAFE_INTEGER)],
    );
    const points = rows.map((row) => {
      const value = numberIn(row, "value");
      return { step: numberIn(row, "step"), value, min: value, max: value, count: 1 };
    });
    return joinedPoints(points, maxPoints);
  }

  async events({ after = 0, types, limit }: EventOptions): Promise<StoredEvent[]> {
    const rows = await this.#query(
      `SELECT id, step, time, event FROM events
       WHERE run = $1 AND id > $2 AND ($3::text[] IS NULL OR type = ANY($3)) ORDER BY id LIMIT $4`,
      [this.#run, after, types ?? null, limit ?? null],
    );
    return rows.map((row) => ({
      order: numberIn(row, "id"),
      step: numberIn(row, "step"),
      time: numberIn(row, "time"),
      event: parsedIn(row, "event", (text) => runEventFromJson(fromLosslessJson(text))),
    }));
  }

  async trajectories(filter: TrajectoryFilter, page: Partial<PageOptions>): Promise<TrajectoryPage> {
    const { sql, values, limit } = pageStatement(this.#run, filter, page);
    const found = (await this.#query(sql, values)).map(summaryOf);
    const shown = found.slice(0, limit);
    return { trajectories: shown, ...defined({ next: found.length > limit ? shown.at(-1)!.key : undefined }) };
  }

  async countTrajectories(filter: TrajectoryFilter): Promise<number> {
    const { sql, values } = countStatement(this.#run, filter);
    const [row] = await this.#query(sql, values);
    return numberIn(row!, "count");
  }

  async trajectory(key: number): Promise<StoredTrajectory> {
    const [row] = await this.#query(`${wholeTrajectories} AND t.id = $2`, [this.#run, key]);
    if (row === undefined) throw missing("trajectory", key);
    const trajectory = readStored(`trajectory ${key}`, () => decodeTrajectory(bytesIn(row, "bytes")));
    return {
      summary: summaryOf(row),
      task: parsedIn(row, "task", (text) => taskFromJson(fromLosslessJson(text))),
      trajectory,
      ...(row.advantages === null
        ? {}
        : {
            advantages_T: readStored(`advantages of trajectory ${key}`, () =>
              decodeAdvantages(trajectory.mask_T, bytesIn(row, "advantages")),
            ),
          }),
    };
  }

  async group(key: number): Promise<StoredGroup> {
    const [group] = await this.#query("SELECT split, task FROM groups WHERE run = $1 AND id = $2", [this.#run, key]);
    if (group === undefined) throw missing("group", key);
    const rows = await this.#query(`${wholeTrajectories} AND t.group_id = $2 ORDER BY t.id`, [this.#run, key]);
    return {
      step: stepOf(key),
      split: textIn(group, "split"),
      task: parsedIn(group, "task", (text) => taskFromJson(fromLosslessJson(text))),
      members: rows.map(summaryOf),
      trajectories: rows.map((row) =>
        readStored(`trajectory ${numberIn(row, "id")}`, () => decodeTrajectory(bytesIn(row, "bytes"))),
      ),
    };
  }
}

const wholeTrajectories = `SELECT t.*, b.bytes, b.advantages, g.task FROM trajectories t
  JOIN trajectory_bytes b ON b.run = t.run AND b.id = t.id JOIN groups g ON g.run = t.run AND g.id = t.group_id
  WHERE t.run = $1`;

const stops: ReadonlySet<string> = new Set([...policyStops, ...infrastructureStops]);
const isStop = (text: string): text is StopReason => stops.has(text);

function summaryOf(row: Row): TrajectorySummary {
  const key = numberIn(row, "id");
  return {
    key,
    group: numberIn(row, "group_id"),
    step: stepOf(key),
    split: textIn(row, "split"),
    id: textIn(row, "name"),
    taskId: textIn(row, "task_id"),
    rollout: textIn(row, "rollout"),
    role: textIn(row, "role"),
    stop: parsedIn(row, "stop", (text) => {
      if (isStop(text)) return text;
      throw new TypeError(`it holds "${text}"`);
    }),
    reward: numberIn(row, "reward"),
    success: row.success === true,
    turns: numberIn(row, "turns"),
    tokens: numberIn(row, "tokens"),
    weight: numberIn(row, "weight"),
    tools: parsedIn(row, "tools", (text) => JSON.parse(text) as string[]),
    ...(row.annotations === null
      ? {}
      : { annotations: parsedIn(row, "annotations", (text) => JSON.parse(text) as Record<string, string>) }),
  };
}

function missing(what: "trajectory" | "group", key: number): LudusError {
  return new LudusError(`no-such-${what}`, {
    got: `${what} ${key}`,
    expected: "the key of one that is there",
    hint: "Take keys from a page of trajectories; a resumed run forgets what came after its checkpoint.",
  });
}
