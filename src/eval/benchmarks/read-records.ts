import { createReadStream } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { z } from "zod";
import { errorText, LudusError } from "../../errors.ts";
import { parseWith } from "../../schema/parse-with.ts";

const code = "bad-benchmark-data";

/** The first of the names that the folder has; throws with what it has instead. */
export async function findFile(folder: string, names: readonly (string | RegExp)[]): Promise<string> {
  const [found] = await findFiles(folder, names);
  return found;
}

/** All files of the folder that one of the names fits, the names in order. */
export async function findFiles(folder: string, names: readonly (string | RegExp)[]): Promise<readonly string[]> {
  const held = await listed(folder);
  const found = names.flatMap((name) => {
    return held.filter((file) => (typeof name === "string" ? file === name : name.test(file))).sort();
  });
  if (found.length > 0) return [...new Set(found)].map((file) => join(folder, file));
  const shown = held.slice(0, 8).join(", ") || "nothing";
  throw new LudusError(code, {
    got: `${folder}, which holds ${shown}${held.length > 8 ? ` and ${held.length - 8} more` : ""}`,
    expected: names.map((name) => (typeof name === "string" ? name : patternText(name))).join(" or "),
    hint: "Benchmarks are not shipped: download the published files into one folder and name it with --data.",
  });
}

/** As people write patterns of file names: `hotpot_*.json`. */
function patternText({ source }: RegExp): string {
  const whole = source.startsWith("^") ? source.slice(1) : `*${source}`;
  return whole
    .replace(/\$$/, "")
    .replaceAll(/\(\?![^)]*\)/g, "")
    .replaceAll(/\(\?:([^)]*)\)/g, "<$1>")
    .replaceAll("\\d+", "*")
    .replaceAll(".*", "*")
    .replaceAll("\\.", ".");
}

async function listed(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (cause) {
    throw new LudusError(code, {
      got: `the folder ${folder}: ${errorText(cause)}`,
      expected: "the folder with the published files of the benchmark",
      cause,
    });
  }
}

/** Records of a file: one in a line, one JSON array, or one record alone. Published files come as each, under any name. */
export async function readRecords<Row>(
  path: string,
  schema: z.ZodType<Row>,
  parse: (text: string) => unknown = JSON.parse,
): Promise<readonly Row[]> {
  const rows: Row[] = [];
  const add = (value: unknown, place: string) => rows.push(parseWith(schema, value, `${path}, ${place}`, code));
  if (await isOneValue(path)) {
    const values = [parsed(await readFile(path, "utf8"), path, parse)].flat(1);
    for (const [index, value] of values.entries()) add(value, `record ${index + 1}`);
  } else {
    let line = 0;
    for await (const text of createInterface({ input: createReadStream(path, "utf8"), crlfDelay: Infinity })) {
      line++;
      if (text.trim() !== "") add(parsed(text, `${path}, line ${line}`, parse), `line ${line}`);
    }
  }
  if (rows.length > 0) return rows;
  throw new LudusError(code, { got: `${path} without a record`, expected: "records of the benchmark" });
}

/** An array, or an object whose first line is its brace. */
async function isOneValue(path: string): Promise<boolean> {
  for await (const chunk of createReadStream(path, { encoding: "utf8", highWaterMark: 1024 })) {
    const text = String(chunk)
      .replace(/^\ufeff/, "")
      .trimStart();
    if (text !== "") return /^(?:\[|\{\s*\n)/.test(text);
  }
  return false;
}

function parsed(text: string, place: string, parse: (text: string) => unknown): unknown {
  try {
    return parse(text.replace(/^\ufeff/, ""));
  } catch (cause) {
    throw new LudusError(code, {
      got: `${place}: ${errorText(cause)}`,
      expected: "JSON, one record in a line or one array of records",
      hint: "A file of Git LFS that was not fetched, or a web page that was saved, looks like this.",
      cause,
    });
  }
}
