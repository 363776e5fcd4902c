import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { defineEnv } from "../env/define-env.ts";
import type { Env } from "../env/env.ts";
import { wilson } from "../eval/interval.ts";
import { createRng } from "../random.ts";
import { isInfrastructureStop, type RunEvent } from "../schema/index.ts";
import { metric } from "../schema/metric-names.ts";
import { heldOutSplit, openRun, type StepWrites } from "../store/index.ts";
import { generated } from "../task/generated.ts";
import type {
  EnvironmentsAnswer,
  EvaluationsAnswer,
  FailuresAnswer,
  FindingCountsAnswer,
  PlayAnswer,
  RunAnswer,
  RunsAnswer,
  SpansAnswer,
  TrajectoriesAnswer,
} from "./dashboard/answers.ts";
import { type Dashboard, serveDashboard } from "./dashboard-server.ts";
import { fakeStep, writeFakeRun } from "./testing/fake-run.ts";

// What runs have come to: evaluations, failures, the order of the list, and environments of their own.

let folder: string;
let dashboard: Dashboard;

const report = (successes: number) => ({
  ...{ split: "test", tasks: 100, attempts: 1, success: wilson(successes, 100), reward: wilson(successes, 100) },
  ...{ passAtK: {}, passHatK: {}, stops: {}, infrastructureFailures: 0, turns: 1, sampledTokens: 1 },
});

/** An evaluation as a run stores it. */
function evaluated(step: number, when: string, successes: number): StepWrites {
  const metrics = { [metric.evalSuccess]: successes / 100, [metric.evalReward]: successes / 100 };
  return { metrics, events: [{ type: "eval-end", step, metrics }], state: { [`eval/${when}`]: report(successes) } };
}

const failure = (step: number, count: number, attempts: number): RunEvent => ({
  ...{ type: "failure", step, count, attempts, during: "training", stop: "env-crash" },
  ...{ message: `Error: order ${step} is gone`, rollout: "step-1/train/0/0" },
});

async function writeRun(name: string, appends: readonly (readonly [number, StepWrites])[]): Promise<void> {
  const directory = join(folder, "runs", name);
  await writeFakeRun(directory, createRng(name.length), { steps: 4, isEnded: false });
  const run = await openRun(directory, { now: () => 1_700_000_000_000 });
  for (const [step, writes] of appends) await run.append(step, writes);
  await run.close();
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "ludus-results-"));
  const config = {
    env: { name: "mine", description: "My own." },
    warmStart: { name: "imitate", steps: 2 },
    algorithm: { name: "grpo" },
    steps: 8,
    source: "/somewhere/train.ts",
  };
  await writeRun("good", [
    [1, { ...evaluated(1, "before", 20), config }],
    [3, evaluated(3, "after", 90)],
  ]);
  await writeRun("middle", [[3, evaluated(3, "step-3", 50)]]);
  const rng = createRng(9);
  const held = fakeStep(3, rng, { groupsPerStep: 3, groupSize: 4, fields: { stop: "tool-crash" } }).groups!;
  await writeRun("none", [
    [1, { events: [failure(1, 8, 8)] }],
    [2, { events: [failure(2, 3, 8), { type: "run-end", reason: "failed", message: "everything-crashed" }] }],
    [3, { groups: held.map(({ group }) => ({ group, split: heldOutSplit })) }],
  ]);
  const env = defineEnv({
    name: "mine",
    tasks: generated(() => ({})),
    start: () => ({ state: undefined, say: "Hello from my own file." }),
    score: () => 1,
  }) as Env;
  dashboard = await serveDashboard({
    runs: join(folder, "runs"),
    token: "t",
    diagnose: async (reader) => {
      const isBad = (await reader.series(metric.evalSuccess)).length === 0;
      return isBad ? [{ code: "bad", severity: "error", message: "m", step: 1 }] : [];
    },
    loadEnv: async (file) => {
      expect(file).toBe("/somewhere/train.ts");
      return env;
    },
  });
});

afterAll(async () => {
  await dashboard.close();
  await rm(folder, { recursive: true });
});

async function ask(path: string, body?: unknown): Promise<Response> {
  const headers = { authorization: "Bearer t", "content-type": "application/json" };
  const post = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  return fetch(`http://127.0.0.1:${dashboard.port}/api${path}`, { headers, ...post });
}

async function get<Answer>(path: string): Promise<Answer> {
  const response = await ask(path);
  expect(response.status, path).toBe(200);
  return response.json() as Promise<Answer>;
}

describe("evaluations", () => {
  test("have the interval of the report that was stored with each, however it is named", async () => {
    const { runs } = await get<EvaluationsAnswer>("/evaluations?run=good&run=middle&run=none");
    expect(runs.map(({ run, evaluations }) => [run, evaluations.map(({ step }) => step)])).toEqual([
      ["good", [1, 3]],
      ["middle", [3]],
      ["none", []],
    ]);
    expect(runs[0].evaluations[1]).toMatchObject({ success: wilson(90, 100), tasks: 100, split: "test" });
    expect(runs[1].evaluations[0].success).toEqual(wilson(50, 100));
  });

  test("the first and the last are in the summary, with the warm start before them", async () => {
    const { summary, directory } = await get<RunAnswer>("/runs/good");
    expect(summary.heldOut).toMatchObject({ first: { step: 1 }, last: { step: 3, success: { mean: 0.9 } } });
    expect(summary).toMatchObject({ warmStart: { name: "imitate", steps: 2 }, plannedSteps: 10 });
    expect(directory).toBe(join(folder, "runs/good"));
    const { spans } = await get<SpansAnswer>("/spans?run=good&run=middle");
    expect(spans).toEqual([
      { run: "good", steps: 4, warmStart: { name: "imitate", steps: 2 } },
      { run: "middle", steps: 4 },
    ]);
  });
});

describe("the list", () => {
  const order = async (query: string) => (await get<RunsAnswer>(`/runs?${query}`)).runs.map(({ id }) => id);

  test("is sorted by held-out success, what is not known last in either direction", async () => {
    expect(await order("sort=heldOut")).toEqual(["good", "middle", "none"]);
    expect(await order("sort=heldOut&order=up")).toEqual(["middle", "good", "none"]);
    expect(await order("sort=heldOut&limit=1&skip=1")).toEqual(["middle"]);
  });

  test("is sorted by name, status and findings", async () => {
    expect(await order("sort=name&order=up")).toEqual(["good", "middle", "none"]);
    expect((await order("sort=status&order=up"))[0]).toBe("none");
    expect((await order("sort=findings"))[0]).toBe("none");
    expect((await ask("/runs?sort=colour")).status).toBe(400);
  });

  test("findings are counted by severity", async () => {
    const { runs } = await get<FindingCountsAnswer>("/findings?run=none&run=good");
    // a fake run says nothing itself before step 5
    expect(runs).toEqual([
      { run: "none", errors: 1, warnings: 0 },
      { run: "good", errors: 0, warnings: 0 },
    ]);
  });
});

describe("failures", () => {
  test("are counted by what they say, and steps that lost everything are named", async () => {
    const { failures, lost } = await get<FailuresAnswer>("/runs/none/failures");
    expect(failures).toMatchObject([{ count: 11, firstStep: 1, lastStep: 2, stop: "env-crash" }]);
    expect(failures[0].example).toBeUndefined();
    expect(lost).toEqual([{ during: "training", step: 1, attempts: 8 }]);
    expect((await get<RunAnswer>("/runs/none")).error).toBe("everything-crashed");
    expect(await get<FailuresAnswer>("/runs/good/failures")).toEqual({ failures: [], lost: [] });
  });

  test("held-out episodes come with those that failed first, on all pages", async () => {
    const path = "/runs/none/trajectories?split=held-out&order=worst";
    const { trajectories } = await get<TrajectoriesAnswer>(path);
    expect(trajectories).toHaveLength(12);
    const places = trajectories.map(({ stop, success, reward }) => {
      return (isInfrastructureStop(stop) ? 0 : success ? 200 : 100) + reward!;
    });
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(places[0]).toBeLessThan(50);
    expect(places.at(-1)).toBeGreaterThan(150);
    const first = await get<TrajectoriesAnswer>(`${path}&limit=5`);
    const second = await get<TrajectoriesAnswer>(`${path}&limit=7&after=${first.next}`);
    expect([...first.trajectories, ...second.trajectories]).toEqual(trajectories);
    expect(second.next).toBeUndefined();
  });
});

describe("a run's own environment", () => {
  test("is played from the file that the run was made from", async () => {
    expect(await get<EnvironmentsAnswer>("/environments?run=good")).toMatchObject({ own: { name: "mine" } });
    const response = await ask("/play", { envOf: "good" });
    const game = (await response.json()) as PlayAnswer;
    expect(game.messages[0].content).toBe("Hello from my own file.");
    expect((await ask("/play", { envOf: "good", split: "none" })).status).toBe(400);
  });

  test("that names no file is told, with what to do", async () => {
    const { problem, runEnv } = await get<EnvironmentsAnswer>("/environments?run=middle");
    expect([runEnv, problem]).toEqual(["guess", expect.stringContaining("ludus dashboard --env")]);
    const response = await ask("/play", { envOf: "middle" });
    expect(response.status).toBe(404);
    expect(await response.text()).toContain("ludus dashboard --env");
  });
});
