import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { cacheShare } from "./processor-cache.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "cache-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(size: string, cores: string): void {
  writeFileSync(join(folder, "size"), `${size}\n`);
  writeFileSync(join(folder, "shared_cpu_list"), `${cores}\n`);
}

test.each([
  { size: "32768K", cores: "0-1", share: 16 * 2 ** 20 },
  { size: "32768K", cores: "0-3,8-11", share: 4 * 2 ** 20 },
  { size: "8192K", cores: "0", share: 8 * 2 ** 20 },
  { size: "32M", cores: "0-1", share: undefined },
  { size: "32768K", cores: "", share: undefined },
])("$size for cores $cores", ({ size, cores, share }) => {
  write(size, cores);
  expect(cacheShare(folder)).toBe(share);
});

test("nothing where the system has no such file", () => {
  expect(cacheShare(join(folder, "none"))).toBeUndefined();
});
