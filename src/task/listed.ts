import { defined } from "../defined.ts";
import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { hashText, seedOf } from "./seeds.ts";
import type { TaskSource } from "./task-source.ts";

export interface ListedOptions {
  name: string;
  seed: number;
  /** The share of rows that are kept for testing, chosen by the hash of the row. Not used where splits are given. */
  testShare: number;
  domain?: string;
}

const knownListedOptions: KnownOptions<ListedOptions> = { name: true, seed: true, testShare: true, domain: true };

const defaults = { name: "listed", seed: 0, testShare: 0.1 };

/** Tasks from rows that are already there: one list, divided by hash, or a list for each split. */
export function listed<Data>(
  rows: readonly Data[] | Readonly<Record<string, readonly Data[]>>,
  options: Partial<ListedOptions> = {},
): TaskSource<Data> {
  refuseUnknownOptions("listed", options, knownListedOptions);
  const { name, seed, testShare, domain } = { ...defaults, ...options };
  const splits = isList(rows) ? divide(rows, testShare) : rows;

  function rowsOf(split: string): readonly Data[] {
    const found = splits[split];
    if (found !== undefined && found.length > 0) return found;
    throw new LudusError(found === undefined ? "unknown-split" : "no-task", {
      got: `"${split}" of ${name}`,
      expected: Object.entries(splits)
        .map(([each, { length }]) => `${each} (${length} tasks)`)
        .join(", "),
    });
  }

  return {
    name,
    splits: Object.keys(splits),
    size: (split) => rowsOf(split).length,
    at(split, index) {
      const list = rowsOf(split);
      return {
        id: `${name}/${split}/${index % list.length}`,
        seed: seedOf(seed, `${name}/${split}`, index),
        data: list[index % list.length]!,
        ...defined({ domain }),
      };
    },
  };
}

function isList<Data>(rows: readonly Data[] | Readonly<Record<string, readonly Data[]>>): rows is readonly Data[] {
  return Array.isArray(rows);
}

/** By content, not by position: adding rows does not move other rows between splits. At least one row is held out for testing. */
function divide<Data>(rows: readonly Data[], testShare: number): Record<string, readonly Data[]> {
  const places = rows.map((row) => hashText(JSON.stringify(row)) / 2 ** 32);
  const least = rows.length > 1 && testShare > 0 ? Math.min(...places) : -1;
  const isTest = (i: number) => places[i] < testShare || places[i] === least;
  return { train: rows.filter((_, i) => !isTest(i)), test: rows.filter((_, i) => isTest(i)) };
}
