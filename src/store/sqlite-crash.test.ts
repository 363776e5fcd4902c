import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createRng } from "../random.ts";
import { loadSqlite } from "./sqlite/load-sqlite.ts";
import { openRun } from "./sqlite-store.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "ludus-crash-"));
});
afterEach(() => rmSync(directory, { recursive: true }));

const url = (path: string) => JSON.stringify(new URL(path, import.meta.url).href);

/** Goes on after the last step for as long as it lives; says so after each. */
const program = `
  import { openRun } from ${url("./sqlite-store.ts")};
  import { createRng } from ${url("../random.ts")};
  import { fakeTask, fakeTrajectory } from ${url("../schema/fake-trajectory.ts")};
  const run = await openRun(process.argv[1], { now: () => 0 });
  for (let step = ((await run.latestStep()) ?? -1) + 1; ; step++) {
    const rng = createRng(step);
    const trajectories = Array.from({ length: 4 }, () => fakeTrajectory(rng));
    await run.append(step, {
      metrics: { loss: step, reward: -step },
      groups: [{ group: { task: fakeTask(rng, "task-0"), trajectories }, split: "train" }],
      events: [{ type: "step-end", step, metrics: {} }],
      state: { guide: step },
    });
    process.stdout.write(step + "\\n");
    await new Promise(setImmediate);
  }`;

/** Returns the last step the process had reported when it was killed. */
async function writeUntilKilled(delayMs: number, isWriting: boolean): Promise<number> {
  const child = spawn(process.execPath, ["--input-type=module", "-e", program, directory], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "-1\n";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  const exit = once(child, "close");
  if (isWriting) await once(child.stdout, "data");
  await setTimeout(delayMs);
  child.kill("SIGKILL");
  await exit;
  return Number(output.slice(0, output.lastIndexOf("\n")).split("\n").at(-1));
}

test("a writer killed at any moment leaves whole steps, all it had reported, and no lock", async () => {
  const rng = createRng(1);
  let earlier = -1;
  for (let round = 0; round < 4; round++) {
    const reported = await writeUntilKilled(rng.integer(60), true);
    expect(reported).toBeGreaterThan(earlier);

    const run = await openRun(directory, { now: () => 0 });
    const last = (await run.latestStep())!;
    expect(last).toBeGreaterThanOrEqual(reported);
    expect(await run.state("guide")).toBe(last);
    expect(await run.series("loss")).toHaveLength(last + 1);
    expect(await run.series("reward")).toHaveLength(last + 1);
    expect((await run.events()).map(({ step }) => step)).toEqual(Array.from({ length: last + 1 }, (_, step) => step));
    expect(await run.countTrajectories()).toBe(4 * (last + 1));
    const newest = await run.trajectories({ steps: { from: last } });
    expect((await run.group(newest.trajectories[0].group)).trajectories).toHaveLength(4);
    await run.close();
    expect(integrity()).toBe("ok");
    earlier = last;
  }
});

test("a writer killed while it opens leaves a run that can be opened", async () => {
  const rng = createRng(2);
  for (let round = 0; round < 3; round++) {
    const reported = await writeUntilKilled(80 + rng.integer(200), false);
    const run = await openRun(directory, { now: () => 0 });
    const last = (await run.latestStep()) ?? -1;
    expect(last).toBeGreaterThanOrEqual(reported);
    expect(await run.countTrajectories()).toBe(4 * (last + 1));
    await run.close();
    expect(integrity()).toBe("ok");
  }
});

function integrity(): unknown {
  const database = new (loadSqlite().DatabaseSync)(join(directory, "run.sqlite"));
  try {
    database.exec("INSERT INTO search(search) VALUES ('integrity-check')");
    return Object.values(database.prepare("PRAGMA integrity_check").get() ?? {})[0];
  } finally {
    database.close();
  }
}
