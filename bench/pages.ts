import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Texts by their path from the repository, made from records alone: the same records give the same texts on any machine. */
export type Pages = Readonly<Record<string, string>>;

const recordFile = (root: string, name: string) => join(root, "bench/results", `${name}.json`);

export function readRecord<Value>(root: string, name: string): Value | undefined {
  const file = recordFile(root, name);
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined;
}

/** Renamed when it is whole: a full disk or a kill must not cost what was measured before. */
export function writeRecord(root: string, name: string, value: unknown): void {
  const file = recordFile(root, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(`${file}.partial`, `${JSON.stringify(value, null, 1)}\n`);
  renameSync(`${file}.partial`, file);
}

export function writePages(root: string, pages: Pages): void {
  for (const [path, text] of Object.entries(pages)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
}
