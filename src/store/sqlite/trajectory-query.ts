import { LudusError } from "../../errors.ts";
import { searchPhrase } from "../search-text.ts";
import { firstKey } from "../step-keys.ts";
import type { PageOptions, TrajectoryFilter } from "../store.ts";

// One thing leads: the text index, the list of a tool's or an annotation's trajectories, or one index of the table, each of which gives keys in
// order. The rest is checked row by row until the page is full. Which leads is written here and not left to SQLite's guesses,
// which without statistics may sort a million rows for a page of fifty.

export interface Query {
  readonly sql: string;
  readonly parameters: readonly (string | number)[];
}

const pageDefaults: Pick<PageOptions, "limit" | "order"> = { limit: 50, order: "newest" };

/** One row more than the page holds, which says whether there is another page. */
export function pageQuery(
  filter: TrajectoryFilter,
  page: Partial<PageOptions>,
  isRewardRare: boolean,
): Query & { limit: number } {
  const { limit, order, after } = { ...pageDefaults, ...page };
  if (!Number.isInteger(limit) || limit < 1) {
    throw new LudusError("bad-page", { got: `limit ${limit}`, expected: "a whole number of at least 1" });
  }
  const { from, key, where, parameters } = clauses(filter, isRewardRare ? "reward" : "page");
  if (after !== undefined) where.push(`${key} ${order === "newest" ? "<" : ">"} ?`);
  const sql = `SELECT t.* FROM ${from}${whereClause(where)} ORDER BY ${key} ${order === "newest" ? "DESC" : "ASC"} LIMIT ?`;
  return { sql, parameters: [...parameters, ...(after === undefined ? [] : [after]), limit + 1], limit };
}

export function countQuery(filter: TrajectoryFilter): Query {
  const { from, where, parameters } = clauses(filter, filter.reward === undefined ? "count" : "reward");
  return { sql: `SELECT count(*) FROM ${from}${whereClause(where)}`, parameters };
}

/** Few enough to be sorted at once. */
const rareRewards = 10_000;

/** Whether a range of rewards is all that narrows the search: then it matters how many there are. */
export function rewardProbe(filter: TrajectoryFilter): (Query & { limit: number }) | undefined {
  if (filter.reward === undefined || leader(filter) !== undefined) return undefined;
  const { where, parameters } = rewardClauses(filter);
  const sql = `SELECT count(*) FROM (SELECT 1 FROM trajectories t INDEXED BY trajectories_reward${whereClause(where)} LIMIT ?)`;
  return { sql, parameters: [...parameters, rareRewards + 1], limit: rareRewards };
}

/** The most telling first. */
const columns = [
  { field: "rollout", column: "rollout", index: "trajectories_rollout" },
  { field: "taskId", column: "task_id", index: "trajectories_task" },
  { field: "stop", column: "stop", index: "trajectories_stop" },
  { field: "success", column: "success", index: "trajectories_success" },
  { field: "split", column: "split", index: "trajectories_split" },
  { field: "role", column: "role", index: undefined },
] as const;

type Leader = "text" | "tool" | "annotation" | (typeof columns)[number]["index"];

function leader(filter: TrajectoryFilter): Leader {
  if (isSearch(filter)) return "text";
  if (filter.tool !== undefined) return "tool";
  const column = columns.find(({ field }) => filter[field] !== undefined);
  const isOneTask = column?.field === "rollout" || column?.field === "taskId";
  return leadingAnnotation(filter) !== undefined && !isOneTask ? "annotation" : column?.index;
}

/** The first that must be there. */
function leadingAnnotation({ annotations = {} }: TrajectoryFilter): [string, true | string] | undefined {
  for (const [name, wanted] of Object.entries(annotations)) if (wanted !== false) return [name, wanted];
  return undefined;
}

const isSearch = ({ text }: TrajectoryFilter) => text !== undefined && text.trim() !== "";

interface Clauses {
  readonly from: string;
  readonly key: string;
  readonly where: string[];
  readonly parameters: (string | number)[];
}

function clauses(filter: TrajectoryFilter, fallback: "page" | "reward" | "count"): Clauses {
  const { from, key, where, parameters } = leadingClauses(filter, fallback);
  if (filter.tool !== undefined && isSearch(filter)) {
    where.push("EXISTS (SELECT 1 FROM trajectory_tools WHERE tool = ? AND trajectory_id = t.id)");
    parameters.push(filter.tool.toWellFormed());
  }
  const [leading] = leader(filter) === "annotation" ? leadingAnnotation(filter)! : [];
  for (const [name, wanted] of Object.entries(filter.annotations ?? {})) {
    if (name === leading) continue;
    const [ofKind, kind] = typeof wanted === "string" ? [" AND kind = ?", [wanted]] : ["", []];
    const exists = `EXISTS (SELECT 1 FROM trajectory_annotations WHERE name = ? AND id = t.id${ofKind})`;
    where.push(wanted === false ? `NOT ${exists}` : exists);
    parameters.push(name, ...kind);
  }
  for (const { field, column } of columns) {
    const value = filter[field];
    if (value === undefined) continue;
    where.push(`t.${column} = ?`);
    parameters.push(typeof value === "boolean" ? Number(value) : value);
  }
  const rewards = rewardClauses(filter);
  where.push(...rewards.where);
  parameters.push(...rewards.parameters);
  if (filter.steps?.from !== undefined) {
    where.push(`${key} >= ?`);
    parameters.push(firstKey(filter.steps.from));
  }
  if (filter.steps?.to !== undefined) {
    where.push(`${key} < ?`);
    parameters.push(firstKey(filter.steps.to + 1));
  }
  return { from, key, where, parameters };
}

/** CROSS JOIN keeps the order in which the tables are named. */
function leadingClauses(filter: TrajectoryFilter, fallback: "page" | "reward" | "count"): Clauses {
  const lead = leader(filter);
  if (lead === "text") {
    const from = "search CROSS JOIN trajectories t ON t.id = search.rowid";
    return { from, key: "search.rowid", where: ["search MATCH ?"], parameters: [searchPhrase(filter.text ?? "")] };
  }
  if (lead === "tool") {
    const from = "trajectory_tools k CROSS JOIN trajectories t ON t.id = k.trajectory_id";
    return { from, key: "k.trajectory_id", where: ["k.tool = ?"], parameters: [(filter.tool ?? "").toWellFormed()] };
  }
  if (lead === "annotation") {
    const from = "trajectory_annotations a CROSS JOIN trajectories t ON t.id = a.id";
    const [name, wanted] = leadingAnnotation(filter)!;
    if (wanted === true) return { from, key: "a.id", where: ["a.name = ?"], parameters: [name] };
    return { from, key: "a.id", where: ["a.name = ?", "a.kind = ?"], parameters: [name, wanted] };
  }
  const hint = { page: "NOT INDEXED", reward: "INDEXED BY trajectories_reward", count: "" }[fallback];
  const from = `trajectories t ${lead === undefined ? hint : `INDEXED BY ${lead}`}`;
  return { from, key: "t.id", where: [], parameters: [] };
}

function rewardClauses({ reward }: TrajectoryFilter): Pick<Clauses, "where" | "parameters"> {
  if (reward === undefined) return { where: [], parameters: [] };
  // an open end is said, too: the index must be usable, and rewards that are no numbers are in no range
  const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY } = reward;
  return { where: ["t.reward BETWEEN ? AND ?"], parameters: [min, max] };
}

function whereClause(where: readonly string[]): string {
  return where.length === 0 ? "" : ` WHERE ${where.join(" AND ")}`;
}
