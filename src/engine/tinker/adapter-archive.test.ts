import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterAll, expect, test } from "vitest";
import { unpackAdapter } from "./adapter-archive.ts";
import { adapterArchive } from "./fixtures/fake-tinker.ts";

const root = mkdtempSync(join(tmpdir(), "ludus-archive-"));
const folder = mkdtempSync(join(root, "inner-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

test("the two files of PEFT are written, and nothing else anywhere", () => {
  unpackAdapter(adapterArchive(), folder);
  expect(readdirSync(folder).sort()).toEqual(["adapter_config.json", "adapter_model.safetensors"]);
  expect(existsSync(join(root, "escaped.txt"))).toBe(false);
});

test.each([
  ["no archive", Buffer.from("<html>")],
  ["one that is cut off", gzipSync(gunzipSync(adapterArchive()).subarray(0, 1600))],
  ["an empty one", gzipSync(Buffer.alloc(1024))],
  ["a size that is no number", gzipSync(Buffer.alloc(512, "z"))],
])("%s is refused", (_, bytes) => {
  expect(() => unpackAdapter(bytes, folder)).toThrow("server-refused");
});

test("an archive that grows beyond the limit is refused before it fills the memory", () => {
  const bomb = gzipSync(Buffer.alloc(50_000_000));
  expect(bomb.length).toBeLessThan(100_000);
  expect(() => unpackAdapter(bomb, folder, 1_000_000)).toThrow("got more than 1000000 bytes, unpacked");
});
