import { defined } from "../../defined.ts";
import { LudusError } from "../../errors.ts";
import {
  decodeTrajectory,
  encodeTrajectory,
  fromLosslessJson,
  runEventFromJson,
  taskFromJson,
  toLosslessJson,
} from "../../schema/index.ts";
import { annotationKindsOf } from "../annotation-kinds.ts";
import { joinedPoints } from "../metric-series.ts";
import { checkedStep, nextKey, stepOf } from "../step-keys.ts";
import { calledTools, checkWrites, isKeptOnce, storedJson } from "../step-writes.ts";
import type {
  EventOptions,
  GroupWrite,
  MetricPoint,
  PageOptions,
  SeriesOptions,
  StepWrites,
  StoredEvent,
  StoredGroup,
  StoredTrajectory,
  TrajectoryFilter,
  TrajectoryPage,
  TrajectorySummary,
} from "../store.ts";
import { trajectoryMatcher, trajectoryWords } from "./match-trajectory.ts";

interface EventRow extends Omit<StoredEvent, "event"> {
  readonly text: string;
}

interface GroupRow {
  readonly key: number;
  readonly split: string;
  readonly task: string;
}

interface TrajectoryRow {
  readonly summary: TrajectorySummary;
  readonly words: readonly string[];
  readonly bytes: Uint8Array;
  readonly advantages_T: Float32Array | undefined;
}

interface NewGroups {
  readonly groups: readonly GroupRow[];
  readonly trajectories: readonly TrajectoryRow[];
}

/**
 * The tables of one run. Rows hold text and bytes, so that what a caller changes later changes nothing here. Methods do not
 * wait: each is one step of the event loop, and so sees whole appends.
 */
export class MemoryRun {
  readonly #metrics = new Map<string, Map<number, number>>();
  #events: EventRow[] = [];
  #groups: GroupRow[] = [];
  #trajectories: TrajectoryRow[] = [];
  #state: { readonly key: string; readonly step: number; readonly text: string }[] = [];
  #config: string | undefined;

  /** Everything that can fail comes before the first change. */
  append(step: number, writes: StepWrites, now: () => number): void {
    checkWrites(step, writes);
    const { truncateAfter: last = Number.POSITIVE_INFINITY } = writes;
    const removed = new Set(writes.removeGroups ?? []);
    const groups = this.#groups.filter(({ key }) => !removed.has(key) && stepOf(key) <= last);
    const trajectories = this.#trajectories.filter(
      ({ summary }) => !removed.has(summary.group) && summary.step <= last,
    );
    const added = newGroups({ groups, trajectories }, step, writes.groups ?? []);
    const events = (writes.events ?? []).map((event) => ({
      isOnce: isKeptOnce(event),
      text: toLosslessJson(event),
      time: now(),
    }));
    const state = Object.entries(writes.state ?? {}).map(([key, value]) => ({
      key,
      step,
      text: storedJson(`state "${key}"`, value),
    }));
    const config = writes.config === undefined ? this.#config : storedJson("the configuration", writes.config);

    if (writes.truncateAfter !== undefined) this.truncateAfter(writes.truncateAfter);
    for (const [name, value] of Object.entries(writes.metrics ?? {})) {
      const values = this.#metrics.get(name) ?? new Map<number, number>();
      this.#metrics.set(name, values.set(step, value));
    }
    for (const { isOnce, text, time } of events) {
      if (isOnce && this.#events.some((row) => row.step === step && row.text === text)) continue;
      this.#events.push({ order: (this.#events.at(-1)?.order ?? 0) + 1, step, time, text });
    }
    this.#groups = [...groups, ...added.groups].sort((a, b) => a.key - b.key);
    this.#trajectories = [...trajectories, ...added.trajectories].sort((a, b) => a.summary.key - b.summary.key);
    const keys = new Set(state.map(({ key }) => key));
    this.#state = [...this.#state.filter((row) => row.step !== step || !keys.has(row.key)), ...state];
    this.#config = config;
    if (writes.pruneStateBefore !== undefined) this.#pruneState(writes.pruneStateBefore);
  }

  truncateAfter(step: number): void {
    checkedStep(step + 1); // -1 forgets all
    for (const [name, values] of this.#metrics) {
      for (const each of values.keys()) if (each > step) values.delete(each);
      if (values.size === 0) this.#metrics.delete(name);
    }
    this.#events = this.#events.filter((row) => row.step <= step && eventOf(row).event.type !== "run-end");
    this.#groups = this.#groups.filter(({ key }) => stepOf(key) <= step);
    this.#trajectories = this.#trajectories.filter(({ summary }) => summary.step <= step);
    this.#state = this.#state.filter((row) => row.step <= step);
  }

  latestStep(): number | undefined {
    const steps = [
      ...[...this.#metrics.values()].flatMap((values) => [...values.keys()]),
      ...[...this.#events, ...this.#state].map(({ step }) => step),
      ...this.#groups.map(({ key }) => stepOf(key)),
    ];
    return steps.length === 0 ? undefined : steps.reduce((a, b) => Math.max(a, b));
  }

  config(): unknown {
    return this.#config === undefined ? undefined : fromLosslessJson(this.#config);
  }

  state(key: string): unknown {
    const newest = this.#state.filter((row) => row.key === key).sort((a, b) => a.step - b.step);
    const text = newest.at(-1)?.text;
    return text === undefined ? undefined : fromLosslessJson(text);
  }

  metricNames(): string[] {
    return [...this.#metrics.keys()].sort();
  }

  series(name: string, { from = 0, to = Number.POSITIVE_INFINITY, maxPoints }: SeriesOptions): MetricPoint[] {
    const values = [...(this.#metrics.get(name) ?? [])].filter(([step]) => step >= from && step <= to);
    const points = values
      .sort(([a], [b]) => a - b)
      .map(([step, value]) => ({ step, value, min: value, max: value, count: 1 }));
    return joinedPoints(points, maxPoints);
  }

  events({ after = 0, types, limit }: EventOptions): StoredEvent[] {
    const found = this.#events.filter(({ order }) => order > after).map(eventOf);
    return found.filter(({ event }) => types?.includes(event.type) ?? true).slice(0, limit);
  }

  trajectories(filter: TrajectoryFilter, page: Partial<PageOptions>): TrajectoryPage {
    const { limit = 50, order = "newest", after } = page;
    if (!Number.isInteger(limit) || limit < 1) {
      throw new LudusError("bad-page", { got: `limit ${limit}`, expected: "a whole number of at least 1" });
    }
    const all = order === "newest" ? this.#found(filter).reverse() : this.#found(filter);
    const isAfter = (key: number) => after === undefined || (order === "newest" ? key < after : key > after);
    const found = all.filter(({ key }) => isAfter(key));
    const shown = found.slice(0, limit);
    return { trajectories: shown, ...defined({ next: found.length > limit ? shown.at(-1)?.key : undefined }) };
  }

  countTrajectories(filter: TrajectoryFilter): number {
    return this.#found(filter).length;
  }

  trajectory(key: number): StoredTrajectory {
    const row = this.#trajectories.find(({ summary }) => summary.key === key);
    if (row === undefined) throw missing("trajectory", key);
    return {
      summary: row.summary,
      task: taskOf(this.#group(row.summary.group)),
      trajectory: decodeTrajectory(row.bytes),
      ...defined({ advantages_T: row.advantages_T?.slice() }),
    };
  }

  group(key: number): StoredGroup {
    const group = this.#group(key);
    const rows = this.#trajectories.filter(({ summary }) => summary.group === key);
    return {
      step: stepOf(key),
      split: group.split,
      task: taskOf(group),
      members: rows.map(({ summary }) => summary),
      trajectories: rows.map(({ bytes }) => decodeTrajectory(bytes)),
    };
  }

  #group(key: number): GroupRow {
    const group = this.#groups.find((each) => each.key === key);
    if (group === undefined) throw missing("group", key);
    return group;
  }

  #found(filter: TrajectoryFilter): TrajectorySummary[] {
    const isMatch = trajectoryMatcher(filter);
    return this.#trajectories.filter(({ summary, words }) => isMatch(summary, words)).map(({ summary }) => summary);
  }

  #pruneState(step: number): void {
    const kept = new Map<string, number>();
    for (const row of this.#state) {
      if (row.step <= step) kept.set(row.key, Math.max(row.step, kept.get(row.key) ?? 0));
    }
    this.#state = this.#state.filter((row) => row.step >= (kept.get(row.key) ?? 0));
  }
}

/** What a step is given, after what it has already. */
function newGroups(present: NewGroups, step: number, writes: readonly GroupWrite[]): NewGroups {
  const [groups, trajectories]: [GroupRow[], TrajectoryRow[]] = [[], []];
  let groupKey = present.groups.findLast(({ key }) => stepOf(key) === step)?.key;
  let key = present.trajectories.findLast(({ summary }) => summary.step === step)?.summary.key;
  for (const { group, split, advantages } of writes) {
    groupKey = nextKey("groups", step, groupKey);
    groups.push({ key: groupKey, split, task: toLosslessJson(group.task) });
    for (const trajectory of group.trajectories) {
      key = nextKey("trajectories", step, key);
      const { id, rollout, taskId, role, stop, weight, score, turns, tokens_T, mask_T } = trajectory;
      const kinds = annotationKindsOf(trajectory);
      trajectories.push({
        summary: {
          key,
          group: groupKey,
          step,
          split,
          id,
          rollout,
          taskId,
          role,
          stop,
          weight,
          reward: score.total,
          success: score.success,
          turns: turns.length,
          tokens: tokens_T.length,
          tools: calledTools(turns),
          ...defined({ annotations: kinds.size === 0 ? undefined : Object.fromEntries(kinds) }),
        },
        words: trajectoryWords(trajectory),
        bytes: encodeTrajectory(trajectory),
        advantages_T: advantages?.get(id)?.map((advantage, t) => (mask_T[t] === 1 ? advantage : 0)),
      });
    }
  }
  return { groups, trajectories };
}

function eventOf({ order, step, time, text }: EventRow): StoredEvent {
  return { order, step, time, event: runEventFromJson(fromLosslessJson(text)) };
}

function taskOf({ task }: GroupRow) {
  return taskFromJson(fromLosslessJson(task));
}

function missing(what: "trajectory" | "group", key: number): LudusError {
  return new LudusError(`no-such-${what}`, {
    got: `${what} ${key}`,
    expected: "the key of one that is there",
    hint: "Take keys from a page of trajectories; a resumed run forgets what came after its checkpoint.",
  });
}
