import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { createRng } from "../random.ts";
import { collect } from "./collect.ts";
import { jsonLine, readJsonLines, textLines } from "./json-lines.ts";

const isEven = (value: unknown) => {
  if (typeof value === "number" && value % 2 === 0) return value;
  throw new TypeError(`${String(value)} is odd`);
};

test("values come one by one, empty lines are passed over", async () => {
  expect(await collect(readJsonLines(["2", "", " ", "4\r"], isEven))).toEqual([2, 4]);
});

test("a bad line's error has its number and the reason", async () => {
  const reading = collect(readJsonLines(["2", "", "3"], isEven));
  await expect(reading).rejects.toThrow("bad-line: got line 3: 3 is odd");
  await expect(collect(readJsonLines(["{"], isEven))).rejects.toThrow(/got line 1: .*JSON.*, expected JSON/);
});

test("bad lines can be skipped, and are counted", async () => {
  const reader = readJsonLines(["1", "2", "nonsense", "4"], isEven, { badLines: "skip" });
  expect(await collect(reader)).toEqual([2, 4]);
  expect(reader.skipped).toBe(2);
  expect(reader.firstSkipped?.message).toContain("line 1: 1 is odd");
});

test("lines are read only as far as they are wanted, and then let go", async () => {
  let read = 0;
  let isClosed = false;
  function* lines() {
    try {
      for (;;) yield String(2 * read++);
    } finally {
      isClosed = true;
    }
  }
  for await (const value of readJsonLines(lines(), isEven)) if (value >= 4) break;
  expect({ read, isClosed }).toEqual({ read: 3, isClosed: true });
});

test("lines are the same however the bytes are cut", async () => {
  const values = ["plain", "東京🙂\u2028 in one line\u2029", "tab\tand \\ \n", "", "last"];
  const bytes = Buffer.from(values.map(jsonLine).join(""));
  const rng = createRng(1);
  for (let round = 0; round < 50; round++) {
    const chunks: Buffer[] = [];
    for (let start = 0; start < bytes.length; ) {
      const end = start + 1 + rng.integer(9);
      chunks.push(bytes.subarray(start, end));
      start = end;
    }
    const lines = await collect(textLines(Readable.from(chunks)));
    expect(lines.map((line) => JSON.parse(line))).toEqual(values);
  }
});

test("a line holds nothing that readers take for the end of a line", () => {
  expect(jsonLine("a\nb\u2028c\u2029d")).toBe('"a\\nb\\u2028c\\u2029d"\n');
});

test("a last line without an end is read, and U+2028 inside a string does not end one", async () => {
  expect(await collect(textLines(['"a\u2028b"\n"c', '"']))).toEqual(['"a\u2028b"', '"c"']);
});
