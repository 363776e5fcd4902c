import { LudusError } from "../errors.ts";
import type { RunFilter } from "./run-catalog.ts";

export function runName(id: string): string {
  return id.split("/").at(-1) ?? id;
}

/** Whether all words of a search occur in an id. */
export function isFound(id: string, { search = "" }: Pick<RunFilter, "search"> = {}): boolean {
  const words = search.toLowerCase().split(/\s+/);
  return words.every((word) => id.toLowerCase().includes(word));
}

/** The part of a list that was asked for. */
export function pageOf<Item>(items: readonly Item[], { skip = 0, limit }: RunFilter = {}): readonly Item[] {
  return items.slice(skip, limit === undefined ? undefined : skip + limit);
}

export function noSuchRun(id: string, expected: string): LudusError {
  return new LudusError("no-such-run", {
    got: `"${id}"`,
    expected,
    hint: "Is it the run itself, not the folder above? ludus runs lists those that are there.",
  });
}

/** An id names a run inside its catalog: parts separated by `/`, none of them empty, `.` or `..`. */
export function isRunId(id: string): boolean {
  return id.split("/").every((part) => part !== "" && part !== "." && part !== "..") && !/[\0\\]/.test(id);
}

export function badRunId(id: string): LudusError {
  return new LudusError("bad-run-id", {
    got: JSON.stringify(id),
    expected: 'names separated by "/", such as "first" or "sweep/lr-1e-3"',
  });
}
