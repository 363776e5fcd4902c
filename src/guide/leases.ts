import { z } from "zod";
import { LudusError } from "../errors.ts";
import { parseWith } from "../schema/parse-with.ts";
import type { Task } from "../schema/task.ts";
import { taskFromJson } from "../schema/task-json.ts";
import type { Lease, LeasedGroup } from "./guide.ts";

/**
 * The leases of a guide that are under way, each with a note: what the guide wants to know again when the lease is observed.
 *
 *     const underWay: Leases<Data, number> = leases(z.int());
 *     // pick(count)
 *     const again = underWay.again(count);
 *     return [...again, underWay.open(task, index)];
 *     // observe(results)
 *     const indices = underWay.close(results);
 */
export interface Leases<Data, Note> {
  /** `note` must be what JSON can hold. */
  open(task: Task<Data>, note: Note): Lease<Data>;
  /** At most so many of the restored leases that were not handed out again yet, the oldest first. */
  again(count: number): readonly Lease<Data>[];
  /** Ends leases and returns their notes. Throws, and ends none, where one is not under way or has a group of another task. */
  close(results: readonly LeasedGroup<Data>[]): readonly Note[];
  /** Of all leases under way, the oldest first. */
  notes(): readonly Note[];
  state(): LeasesState;
  /** Undefined is the state of a guide that had none under way. */
  restore(state: unknown): void;
}

const State = z.object({
  next: z.int().min(0),
  underWay: z.array(z.object({ id: z.string(), task: z.unknown().transform(taskFromJson), note: z.unknown() })),
});

export type LeasesState = z.infer<typeof State>;

interface Entry<Data, Note> {
  readonly lease: Lease<Data>;
  readonly note: Note;
}

/** Starts with none. Notes of a restored state are read with the schema. */
export function leases<Data, Note>(noteSchema: z.ZodType<Note>): Leases<Data, Note> {
  let next = 0;
  let underWay = new Map<string, Entry<Data, Note>>();
  /** Restored and not handed out again. */
  const waiting = new Set<string>();

  const check = (results: readonly LeasedGroup<Data>[]) => {
    const seen = new Set<string>();
    for (const { lease, group } of results) {
      const entry = underWay.get(lease.id);
      if (entry === undefined || seen.has(lease.id)) throw notUnderWay(lease.id, seen, [...underWay.keys()]);
      if (group.task.id !== entry.lease.task.id) throw wrongGroup(entry.lease, group.task);
      seen.add(lease.id);
    }
  };

  return {
    open(task, note) {
      const lease = { id: `${next++}`, task };
      underWay.set(lease.id, { lease, note });
      return lease;
    },
    again(count) {
      const ids = [...waiting].slice(0, count);
      for (const id of ids) waiting.delete(id);
      return ids.map((id) => underWay.get(id)!.lease);
    },
    close(results) {
      check(results);
      const notes = results.map(({ lease }) => underWay.get(lease.id)!.note);
      for (const { lease } of results) {
        underWay.delete(lease.id);
        waiting.delete(lease.id);
      }
      return notes;
    },
    notes: () => [...underWay.values()].map(({ note }) => note),
    state: () => ({ next, underWay: [...underWay.values()].map(({ lease, note }) => ({ ...lease, note })) }),
    restore(state) {
      const stored = parseWith(State, state ?? { next: 0, underWay: [] }, "the leases of a guide", "bad-guide-state");
      const entries = stored.underWay.map(({ id, task, note }) => {
        const parsed = parseWith(noteSchema, note, `the note of lease ${id}`, "bad-guide-state");
        // what a task's data is was checked by its environment when it was made
        return [id, { lease: { id, task: task as Task<Data> }, note: parsed }] as const;
      });
      next = stored.next;
      underWay = new Map(entries);
      waiting.clear();
      for (const [id] of entries) waiting.add(id);
    },
  };
}

function notUnderWay(id: string, seen: ReadonlySet<string>, known: readonly string[]): LudusError {
  const shown = known.length > 8 ? `${known.slice(0, 8).join(", ")}, …` : known.join(", ");
  return new LudusError("unknown-lease", {
    got: `lease ${id}${seen.has(id) ? " twice" : ""}`,
    expected: known.length === 0 ? "nothing: no lease is under way" : `each lease under way once: ${shown}`,
    hint: "A lease is observed once, by the guide that picked it.",
  });
}

function wrongGroup({ id, task }: Lease, { id: other }: Task): LudusError {
  return new LudusError("wrong-lease", {
    got: `attempts at ${other} for lease ${id}`,
    expected: `attempts at ${task.id}`,
  });
}
