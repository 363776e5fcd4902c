import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { judgeCache } from "./reply-cache.ts";

const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
});

async function fileIn(text?: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "reply-cache-"));
  folders.push(folder);
  const file = join(folder, "replies.jsonl");
  if (text !== undefined) await writeFile(file, text);
  return file;
}

test("those unused for longest go first", async () => {
  const cache = judgeCache({ entries: 2 });
  await cache.set("a", "1");
  await cache.set("b", "2");
  await cache.get("a");
  await cache.set("c", "3");
  expect(await cache.get("a")).toBe("1");
  expect(await cache.get("b")).toBeUndefined();
  expect(await cache.get("c")).toBe("3");
});

test("a file keeps them, at once and in order", async () => {
  const file = await fileIn();
  const cache = judgeCache({ file });
  await Promise.all([cache.set("a", "one\ntwo\u2028"), cache.set("b", "2"), cache.set("a", "3")]);
  const other = judgeCache({ file });
  expect(await other.get("a")).toBe("3");
  expect(await other.get("b")).toBe("2");
});

test("half a line and nonsense are passed over, and spoil nothing after them", async () => {
  const file = await fileIn('{"key":"a","reply":"1"}\nnonsense\n{"key":1}\n{"key":"b","rep');
  const cache = judgeCache({ file });
  expect(await cache.get("a")).toBe("1");
  await cache.set("c", "3");
  expect((await readFile(file, "utf8")).split("\n").at(-2)).toBe('{"key":"c","reply":"3"}');
  expect(await judgeCache({ file }).get("c")).toBe("3");
});

test("a file that cannot be written is an error each time", async () => {
  const file = join(await fileIn("a file, not a folder"), "replies.jsonl");
  const cache = judgeCache({ file });
  await expect(cache.get("a")).rejects.toThrow("ENOTDIR");
});
