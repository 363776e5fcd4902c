import { readFileSync } from "node:fs";
import { errorText, LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { type ListedOptions, listed } from "./listed.ts";
import type { TaskSource } from "./task-source.ts";

export interface JsonlOptions<Data> extends ListedOptions {
  /** Makes a task of a row, and throws where it cannot. A zod schema's `parse` is one. */
  parse: (row: unknown) => Data;
}

const knownJsonlOptions: KnownOptions<JsonlOptions<unknown>> = {
  name: true,
  seed: true,
  testShare: true,
  parse: true,
  domain: true,
};

/** Tasks from a file of JSON lines, or from one file for each split. */
export function jsonl<Data = unknown>(
  files: string | Readonly<Record<string, string>>,
  options: Partial<JsonlOptions<Data>> = {},
): TaskSource<Data> {
  refuseUnknownOptions("jsonl", options, knownJsonlOptions);
  const { parse = (row: unknown) => row as Data, ...listing } = options;
  const rows =
    typeof files === "string"
      ? readRows(files, parse)
      : Object.fromEntries(Object.entries(files).map(([split, file]) => [split, readRows(file, parse)]));
  const name = listing.name ?? (typeof files === "string" ? files : Object.values(files).join(", "));
  return listed(rows, { ...listing, name });
}

function readRows<Data>(file: string, parse: (row: unknown) => Data): Data[] {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (cause) {
    throw new LudusError("no-tasks-file", { got: `"${file}"`, expected: "a readable file of JSON lines", cause });
  }
  return text.split("\n").flatMap((line, index) => {
    if (line.trim() === "") return [];
    try {
      return [parse(JSON.parse(line))];
    } catch (cause) {
      const got = `line ${index + 1} of ${file}: ${line.slice(0, 80)}`;
      const problem = errorText(cause);
      throw new LudusError("bad-task", { got, expected: `a task in JSON (${problem})`, cause });
    }
  });
}
