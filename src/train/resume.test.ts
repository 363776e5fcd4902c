import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createRng } from "../random.ts";
import { openRun } from "../store/index.ts";
import { killAndResume, remains, runThrough } from "./fixtures/kill-and-resume.ts";

test("a run that was killed, again and again, leaves the same bits as one that never was", async () => {
  const folder = mkdtempSync(join(tmpdir(), "ludus-resume-"));
  try {
    expect(await runThrough(join(folder, "whole"))).toBe(true);
    const kills = await killAndResume(join(folder, "killed"), createRng(1), 6);
    expect(kills).toBeGreaterThan(2);
    const [whole, killed] = [await remains(join(folder, "whole")), await remains(join(folder, "killed"))];
    for (const part of Object.keys(whole)) expect(killed[part], part).toEqual(whole[part]);
    const reader = await openRun(join(folder, "killed"), { readOnly: true });
    expect(await reader.countTrajectories({ annotations: { hint: true } })).toBeGreaterThan(4);
    await reader.close();
  } finally {
    rmSync(folder, { recursive: true });
  }
}, 60_000);
