import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createRng } from "../random.ts";
import { killAndResume, remains, runThrough } from "./fixtures/kill-and-resume.ts";

let folder: string;
let whole: Record<string, unknown>;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "ludus-resume-slow-"));
  await runThrough(join(folder, "whole"));
  whole = await remains(join(folder, "whole"));
});
afterAll(() => rmSync(folder, { recursive: true }));

test.each([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])("kills of seed %i, twenty at most, change no bit", async (seed) => {
  const killed = join(folder, `killed-${seed}`);
  await killAndResume(killed, createRng(seed), 20);
  const left = await remains(killed);
  for (const part of Object.keys(whole)) expect(left[part], part).toEqual(whole[part]);
});
