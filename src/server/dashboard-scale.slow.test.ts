import { copyFile, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createRng } from "../random.ts";
import type { RunsAnswer, TrajectoriesAnswer } from "./dashboard/answers.ts";
import { type Dashboard, serveDashboard } from "./dashboard-server.ts";
import { writeFakeRun } from "./testing/fake-run.ts";

// LUDUS_TRAJECTORIES=1000000 for the full size; it takes minutes to write.
const runs = 1000;
const trajectories = Number(process.env.LUDUS_TRAJECTORIES ?? 100_000);
const groupSize = 8;
const groupsPerStep = 32;
const wellUnderASecondMs = 500;
/** Pages do not wait for these. */
const comesAfterwards = /\/(count|findings)/;
const soonMs = 1000;

let folder: string;
let dashboard: Dashboard;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "ludus-scale-"));
  await writeFakeRun(join(folder, "one"), createRng(1), { steps: 30 });
  for (let i = 0; i < runs; i++) {
    const directory = join(folder, `runs/sweep-${i % 10}/run-${i}`);
    await mkdir(directory, { recursive: true });
    await copyFile(join(folder, "one/run.sqlite"), join(directory, "run.sqlite"));
  }
  const steps = Math.ceil(trajectories / (groupSize * groupsPerStep));
  await writeFakeRun(join(folder, "runs/large"), createRng(2), { steps, groupSize, groupsPerStep });
  dashboard = await serveDashboard({ runs: join(folder, "runs"), token: "t" });
});

afterAll(async () => {
  await dashboard.close();
  await rm(folder, { recursive: true });
});

async function timed<Answer>(path: string): Promise<Answer> {
  const started = performance.now();
  const response = await fetch(`http://127.0.0.1:${dashboard.port}/api${path}`, {
    headers: { authorization: "Bearer t" },
  });
  const answer = (await response.json()) as Answer;
  const ms = performance.now() - started;
  console.log(`${ms.toFixed(0).padStart(5)} ms  ${path}`);
  expect(response.status, path).toBe(200);
  expect(ms, path).toBeLessThan(comesAfterwards.test(path) ? soonMs : wellUnderASecondMs);
  return answer;
}

describe(`${runs} runs`, () => {
  test.each(["/runs", "/runs?skip=500", "/runs?search=sweep-3%20run-77"])("%s is listed at once", async (path) => {
    const { runs: page } = await timed<RunsAnswer>(path);
    expect(page.length).toBeGreaterThan(0);
    await timed<RunsAnswer>(path);
  });
});

describe(`${trajectories} trajectories`, () => {
  const list = "/runs/large/trajectories?limit=50";

  test("the run's page loads at once", async () => {
    await timed("/runs/large");
    await timed("/series?run=large&name=rollout/reward&name=rollout/success");
    await timed("/runs/large/findings");
    await timed("/runs/large/events?limit=50");
  });

  test.each([
    "",
    "&success=true",
    "&stop=env-crash",
    "&tool=search",
    "&min=1.3",
    "&text=answer%20is",
    "&task=train/7",
    "&to=3",
  ])("a page of those with %s comes at once, and so does the next, one of them and its group", async (filter) => {
    const { trajectories: page, next } = await timed<TrajectoriesAnswer>(`${list}${filter}`);
    expect(page.length).toBeGreaterThan(0);
    if (next !== undefined) await timed(`${list}${filter}&after=${next}`);
    await timed(`/runs/large/trajectories/${page[0].key}`);
    await timed(`/runs/large/groups/${page[0].group}`);
    await timed(`/runs/large/count?${filter.slice(1)}`);
  });
});
