import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fakeEngine } from "../engine/fake-engine.ts";
import { defineEnv } from "../env/define-env.ts";
import type { Env } from "../env/env.ts";
import { byteTokenizer } from "../policy/byte-tokenizer.ts";
import { createRng } from "../random.ts";
import { fakeTask, fakeTrajectory } from "../schema/fake-trajectory.ts";
import { memoryRuns, openRun } from "../store/index.ts";
import { generated } from "../task/generated.ts";
import type {
  EventsAnswer,
  FailuresAnswer,
  GroupAnswer,
  PlayAnswer,
  RunAnswer,
  RunsAnswer,
  SeriesAnswer,
  SuggestionAnswer,
  TrajectoriesAnswer,
  TrajectoryAnswer,
} from "./dashboard/answers.ts";
import { type Dashboard, serveDashboard } from "./dashboard-server.ts";
import { fakeStep, writeFakeRun } from "./testing/fake-run.ts";

const guess = (): Env =>
  defineEnv({
    name: "guess",
    description: "Find a number",
    tasks: generated(() => ({ secret: 4 })),
    start: () => ({ state: { tries: 0 }, say: "Guess my number, 1 to 9." }),
    act: ({ task, state, answer }) => {
      state.tries++;
      if (Number(answer) === task.secret) return { done: true, say: "right" };
      return { say: Number(answer) < task.secret ? "higher" : "lower", reward: -0.1 };
    },
    score: ({ task, answer }) => ({ outcome: Number(answer) === task.secret ? 1 : 0 }),
    expert: ({ task }) => String(task.secret),
    actions: () => ["1", "4", "9"],
    limits: { turns: 3, turnTokens: 4 },
  }) as Env;

let folder: string;
let dashboard: Dashboard;
const tokenizer = byteTokenizer();
const four = "4".charCodeAt(0);
const end = tokenizer.specialTokens.eos!.id;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "ludus-dashboard-"));
  const rng = createRng(1);
  const hint = { kind: "plan", text: "y".repeat(30_000), prompt_P: Int32Array.of(1) };
  const fields = { failure: "x".repeat(50_000) };
  await writeFakeRun(join(folder, "runs/first"), rng, { fields, annotations: { hint } });
  await writeFakeRun(join(folder, "runs/sweep/lr 1e-3"), rng, { steps: 3, isEnded: false });
  await writeCrashedRun(join(folder, "runs/crashed"));
  await mkdir(join(folder, "runs/empty"));
  await mkdir(join(folder, "runs/broken"));
  await writeFile(join(folder, "runs/broken/run.sqlite"), "no database");
  const checkpoint = join(folder, "runs/first/checkpoints/step-000019");
  await mkdir(checkpoint, { recursive: true });
  for (const [name, text] of Object.entries(tokenizer.files())) await writeFile(join(checkpoint, name), text);
  const distribution = (tokens: readonly number[]) =>
    Array.from({ length: tokenizer.vocabularySize }, (_, id) => {
      if (id === (tokens.at(-1) === four ? end : four)) return 0.9;
      return id === 57 ? 0.1 : 0;
    });
  dashboard = await serveDashboard({
    runs: join(folder, "runs"),
    token: "secret-token",
    environments: { guess: { description: "Find a number", make: guess } },
    liveMs: 20,
    diagnose: async () => [{ code: "flat", severity: "error", message: "No gain.", remedy: "Look.", step: 9 }],
    loadEngine: async () => fakeEngine({ vocabularySize: tokenizer.vocabularySize, distribution }),
  });
});

async function writeCrashedRun(directory: string): Promise<void> {
  await mkdir(directory);
  const store = await openRun(directory, { now: () => 5 });
  const rng = createRng(3);
  const groupOf = (id: string, size: number) => ({
    task: fakeTask(rng, id),
    trajectories: Array.from({ length: size }, () => fakeTrajectory(rng, { taskId: id })),
  });
  for (const step of [0, 1]) {
    const failure = { during: "training", stop: "env-crash", message: `Error: order ${step + 1} is gone` } as const;
    const rollout = `step-${step}/0/0`;
    await store.append(step, {
      events: [{ type: "failure", step, attempts: 8, count: 3 + step, rollout, ...failure }],
    });
  }
  await store.append(1, {
    groups: [
      { group: groupOf("a", 2), split: "train" },
      { group: groupOf("b", 3), split: "held-out" },
    ],
    events: [{ type: "run-end", reason: "failed", message: "everything-crashed: …" }],
  });
  await store.close();
}

afterAll(async () => {
  await dashboard.close();
  await rm(folder, { recursive: true });
});

const address = (path: string) => `http://127.0.0.1:${dashboard.port}${path}`;
const bearer = { authorization: "Bearer secret-token" };

async function get<Answer>(path: string): Promise<Answer> {
  const response = await fetch(address(`/api${path}`), { headers: bearer });
  expect(response.status, path).toBe(200);
  return response.json() as Promise<Answer>;
}

async function post<Answer>(path: string, body: unknown): Promise<Answer> {
  const headers = { ...bearer, "content-type": "application/json" };
  const response = await fetch(address(`/api${path}`), { method: "POST", headers, body: JSON.stringify(body) });
  expect(response.status, path).toBe(200);
  return response.json() as Promise<Answer>;
}

describe("who may look", () => {
  test("nobody without the token, and it is refused under another name or for another site", async () => {
    expect((await fetch(address("/api/runs"))).status).toBe(401);
    expect((await fetch(address("/api/runs"), { headers: { authorization: "Bearer wrong" } })).status).toBe(401);
    const crossed = await fetch(address("/api/runs"), { headers: { ...bearer, "sec-fetch-site": "same-site" } });
    expect(crossed.status).toBe(403);
    expect((await fetch(address("/api/runs"), { headers: bearer })).status).toBe(200);
  });

  test("a name that is not loopback's is refused, though it points here", async () => {
    const { request } = await import("node:http");
    const status = await new Promise((done) => {
      const headers = { ...bearer, host: "evil.example" };
      request({ port: dashboard.port, path: "/api/runs", headers }, (response) => {
        response.resume();
        done(response.statusCode);
      }).end();
    });
    expect(status).toBe(421);
  });

  test("the printed address turns its token into a cookie and loses it", async () => {
    const first = await fetch(`${dashboard.url.replace("/?", "/runs/first?smooth=1&")}`, { redirect: "manual" });
    expect(first.status).toBe(303);
    expect(first.headers.get("location")).toBe("/runs/first?smooth=1");
    const cookie = first.headers.get("set-cookie")!;
    expect(cookie).toMatch(/HttpOnly/);
    expect(cookie).toMatch(/SameSite=Strict/);
    expect((await fetch(address("/api/runs"), { headers: { cookie: cookie.split(";")[0] } })).status).toBe(200);
    const wrong = await fetch(address("/?token=wrong"), { redirect: "manual" });
    expect(wrong.headers.get("set-cookie")).toBeNull();
  });

  test("every answer forbids scripts, styles and frames of others", async () => {
    for (const path of ["/", "/api/runs", "/assets/none.js"]) {
      const { headers } = await fetch(address(path));
      expect(headers.get("content-security-policy"), path).toMatch(/default-src 'none'; script-src 'self';/);
      expect(headers.get("x-content-type-options"), path).toBe("nosniff");
    }
  });

  test("paths cannot leave the folder of runs", async () => {
    for (const id of ["..", "../runs", "/etc", "first/../../..", "%2e%2e"]) {
      const response = await fetch(address(`/api/runs/${encodeURIComponent(id)}/trajectories`), { headers: bearer });
      expect(response.status, id).toBe(404);
    }
    expect((await fetch(address("/assets/..%2Findex.html"))).headers.get("content-type")).not.toMatch(/javascript/);
  });
});

describe("runs", () => {
  test("are found at any depth, and a damaged one hides no other", async () => {
    const { runs, total } = await get<RunsAnswer>("/runs");
    expect(total).toBe(4);
    const byId = new Map(runs.map((run) => [run.id, run]));
    expect([...byId.keys()].sort()).toEqual(["broken", "crashed", "first", "sweep/lr 1e-3"]);
    expect(byId.get("first")).toMatchObject({ status: "finished", steps: 20, plannedSteps: 100, env: "guess" });
    expect(byId.get("first")!.curve).toHaveLength(20);
    expect(byId.get("sweep/lr 1e-3")).toMatchObject({ status: "interrupted", steps: 3 });
    expect(byId.get("broken")!.problem).toMatch(/store-/);
  });

  test("are searched by words and paged", async () => {
    expect((await get<RunsAnswer>("/runs?search=1E-3%20sweep")).runs.map(({ id }) => id)).toEqual(["sweep/lr 1e-3"]);
    const [a, b] = [await get<RunsAnswer>("/runs?limit=2"), await get<RunsAnswer>("/runs?limit=2&skip=2")];
    expect([a.runs.length, b.runs.length, b.total]).toEqual([2, 2, 4]);
  });

  test("tell their metrics, configuration and checkpoints", async () => {
    const answer = await get<RunAnswer>("/runs/first");
    expect(answer.metricNames).toContain("rollout/reward");
    expect(answer).toMatchObject({ checkpoints: [19], trajectories: 160, config: { seed: 7 } });
    const nested = await get<RunAnswer>(`/runs/${encodeURIComponent("sweep/lr 1e-3")}`);
    expect(nested.summary.steps).toBe(3);
  });

  test("give series of several runs, joined to as many points as are wanted", async () => {
    const ids = `run=first&run=${encodeURIComponent("sweep/lr 1e-3")}`;
    const { series } = await get<SeriesAnswer>(`/series?${ids}&name=rollout/reward&name=policy/entropy&points=5`);
    expect(series.map(({ run, name, steps }) => [run, name, steps.length])).toEqual([
      ["first", "rollout/reward", 5],
      ["first", "policy/entropy", 5],
      ["sweep/lr 1e-3", "rollout/reward", 3],
      ["sweep/lr 1e-3", "policy/entropy", 3],
    ]);
    expect(series[0].counts).toEqual([4, 4, 4, 4, 4]);
    expect(series[0].steps).toEqual([3, 7, 11, 15, 19]);
  });

  test("tell what was found, from the step where it began to the last", async () => {
    const { findings } = await get<{ findings: unknown[] }>("/runs/first/findings");
    expect(findings).toMatchObject([
      { code: "flat", severity: "error", remedy: "Look.", step: 9, since: 9 },
      { code: "uniform-groups", since: 5, step: 15 },
    ]);
  });

  test("tell what happened, of the kinds that are asked for", async () => {
    const kinds = async (query: string) => {
      const { events } = await get<EventsAnswer>(`/runs/first/events?limit=500${query}`);
      return new Set(events.map(({ event }) => event.type));
    };
    expect(await kinds("")).toEqual(new Set(["step-end", "finding", "run-end"]));
    expect(await kinds("&type=finding&type=run-end")).toEqual(new Set(["finding", "run-end"]));
  });

  test("tell what failed, by what it says", async () => {
    const { failures } = await get<FailuresAnswer>("/runs/crashed/failures");
    expect(failures).toMatchObject([{ message: "Error: order 1 is gone", count: 7, firstStep: 0, lastStep: 1 }]);
    expect(failures[0].steps.map(({ count }) => count)).toEqual([3, 4]);
    expect((await get<FailuresAnswer>("/runs/first/failures")).failures).toEqual([]);
    expect(await get<RunAnswer>("/runs/crashed")).toMatchObject({
      error: "everything-crashed: …",
      summary: { status: "failed" },
    });
  });

  test("keep held-out episodes apart from those of training", async () => {
    expect(await get<RunAnswer>("/runs/crashed")).toMatchObject({ trajectories: 2, heldOut: 3 });
    const list = async (query: string) => {
      const { trajectories } = await get<TrajectoriesAnswer>(`/runs/crashed/trajectories?order=oldest${query}`);
      return trajectories.map(({ split }) => split);
    };
    expect(await list("")).toEqual(["train", "train"]);
    expect(await list("&split=held-out")).toEqual(["held-out", "held-out", "held-out"]);
    expect(await list("&split=any")).toHaveLength(5);
    expect(await get("/runs/crashed/count?split=held-out")).toEqual({ count: 3 });
  });

  test("a request that does not fit is refused in words", async () => {
    const response = await fetch(address("/api/series?run=first"), { headers: bearer });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { code: "bad-request" } });
    expect((await fetch(address("/api/runs/none"), { headers: bearer })).status).toBe(404);
    expect((await fetch(address("/api/nothing"), { headers: bearer })).status).toBe(404);
  });
});

describe("trajectories", () => {
  test("are filtered and paged by key", async () => {
    const first = await get<TrajectoriesAnswer>("/runs/first/trajectories?limit=10&success=true&min=0.9");
    expect(first.trajectories).toHaveLength(10);
    expect(first.trajectories.every(({ success, reward }) => success && reward! >= 0.9)).toBe(true);
    const second = await get<TrajectoriesAnswer>(
      `/runs/first/trajectories?limit=10&success=true&min=0.9&after=${first.next}`,
    );
    expect(second.trajectories[0].key).toBeLessThan(first.trajectories.at(-1)!.key);
    const { count } = await get<{ count: number }>("/runs/first/count?tool=search&text=search");
    expect(count).toBeGreaterThan(0);
  });

  test("come with every token's text, mask and log-probability", async () => {
    const { trajectories } = await get<TrajectoriesAnswer>("/runs/first/trajectories?limit=50");
    const { key } = trajectories.find(({ turns }) => turns > 1)!;
    const { tokens, turns, summary } = await get<TrajectoryAnswer>(`/runs/first/trajectories/${key}`);
    expect(tokens.total).toBe(summary.tokens);
    expect(tokens.texts!.join("")).toBe(tokenizer.decode(tokens.ids as number[], { special: true }));
    expect(tokens.mask.slice(turns[0].start, turns[0].end).every((mask) => mask === 1)).toBe(true);
    const part = await get<TrajectoryAnswer>(`/runs/first/trajectories/${key}?first=2&tokens=3`);
    expect(part.tokens.ids).toEqual(tokens.ids.slice(2, 5));
  });

  test("come with advantages where they were learned from", async () => {
    const of = async (task: string) => {
      const { trajectories } = await get<TrajectoriesAnswer>(`/runs/first/trajectories?limit=50&task=${task}`);
      const { key } = trajectories.find(({ turns }) => turns > 1)!;
      return (await get<TrajectoryAnswer>(`/runs/first/trajectories/${key}`)).tokens;
    };
    const learned = await of("train/0");
    expect(learned.advantages).toHaveLength(learned.ids.length);
    expect(learned.advantages!.every((advantage, t) => (advantage !== 0) === (learned.mask[t] === 1))).toBe(true);
    expect((await of("train/1")).advantages).toBeUndefined();
  });

  test("long texts are cut until all is asked for", async () => {
    const { trajectories } = await get<TrajectoriesAnswer>("/runs/first/trajectories?hint=true&limit=1");
    const path = `/runs/first/trajectories/${trajectories[0].key}`;
    expect((await get<TrajectoryAnswer>(path)).hint!.text).toMatchObject({ length: 30_000 });
    expect((await get<TrajectoryAnswer>(path)).hint!.text.text).toHaveLength(20_000);
    expect((await get<TrajectoryAnswer>(`${path}?full=true`)).hint!.text.text).toHaveLength(30_000);
  });

  test("that had a hint say so, in lists and by themselves", async () => {
    const { trajectories } = await get<TrajectoriesAnswer>("/runs/first/trajectories?hint=true&limit=2");
    expect(trajectories.map((summary) => summary.annotations)).toEqual(Array(2).fill({ hint: "plan" }));
    const shown = await get<TrajectoryAnswer>(`/runs/first/trajectories/${trajectories[0].key}`);
    expect(shown.hint).toEqual({ kind: "plan", text: { text: "y".repeat(20_000), length: 30_000 } });
    expect(await get<{ count: number }>("/runs/first/count?hint=true")).toEqual({ count: 20 });
    expect(await get<{ count: number }>("/runs/first/count?hint=false")).toEqual({ count: 140 });
  });

  test("a group has its members and their mean", async () => {
    const { trajectories } = await get<TrajectoriesAnswer>("/runs/first/trajectories?limit=1");
    const group = await get<GroupAnswer>(`/runs/first/groups/${trajectories[0].group}`);
    expect(group.members).toHaveLength(4);
    const mean = group.members.reduce((sum, { reward }) => sum + reward!, 0) / 4;
    expect(group.meanReward).toBeCloseTo(mean, 6);
  });
});

describe("playing by hand", () => {
  test("an episode goes as for a policy, with the prompt it would see", async () => {
    const { environments } = await get<{ environments: unknown[] }>("/environments");
    expect(environments).toEqual([{ name: "guess", description: "Find a number" }]);
    const start = await post<PlayAnswer>("/play", { env: "guess" });
    expect(start).toMatchObject({ role: "agent", possible: ["1", "4", "9"], hasExpert: true });
    expect(start.prompt).toBe("Guess my number, 1 to 9.<|im_start|>");
    const middle = await post<PlayAnswer>(`/play/${start.session}/say`, { text: "9" });
    expect(middle.prompt).toBe("Guess my number, 1 to 9.<|im_start|>9<|im_end|>lower<|im_start|>");
    expect(middle.messages.map(({ content }) => content)).toEqual(["Guess my number, 1 to 9.", "9", "lower"]);
    expect(await post(`/play/${start.session}/expert`, {})).toEqual({ text: "4" });
    const over = await post<PlayAnswer>(`/play/${start.session}/say`, { text: "4" });
    expect(over.end).toMatchObject({ stop: "completed", score: { total: 0.9, success: true } });
    expect(over.role).toBeUndefined();
  });

  test("a checkpoint says what it would say, and what else it might have", async () => {
    const { session } = await post<PlayAnswer>("/play", { env: "guess", run: "first" });
    const path = `/play/${session}/suggest`;
    const suggestion = await post<SuggestionAnswer>(path, { temperature: 0 });
    expect(suggestion).toMatchObject({ text: "4", stop: "stop-token" });
    expect(suggestion.tokens.map(({ text }) => text)).toEqual(["4", "<|im_end|>"]);
    expect(suggestion.tokens[0].choices.slice(0, 2)).toMatchObject([
      { id: four, text: "4" },
      { id: 57, text: "9" },
    ]);
    expect(suggestion.tokens[0].logprob).toBeCloseTo(Math.log(0.9), 5);
    const other = await post<SuggestionAnswer>(path, { temperature: 0, given: [57] });
    expect(other.tokens.map(({ text, isGiven }) => [text, isGiven])).toEqual([
      ["9", true],
      ["4", false],
      ["<|im_end|>", false],
    ]);
    const over = await post<PlayAnswer>(`/play/${session}/say`, { tokens: suggestion.tokens.map(({ id }) => id) });
    expect(over.end).toMatchObject({ stop: "completed", score: { success: true } });
  });
});

test("whoever watches a run hears of each write", async () => {
  const stop = new AbortController();
  const response = await fetch(address("/api/live?run=first"), { headers: bearer, signal: stop.signal });
  expect(response.headers.get("content-type")).toMatch(/event-stream/);
  const steps: number[] = [];
  let text = "";
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const found = [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data).step as number);
    if (found.length > steps.length) {
      steps.push(...found.slice(steps.length));
      if (steps.length === 2) break;
      await writeFakeRun(join(folder, "runs/first"), createRng(2), { firstStep: 20, steps: 1 });
    }
  }
  stop.abort();
  expect(steps.at(0)).toBe(19);
  expect(steps.at(-1)).toBe(20);
});

test("any catalog can be shown, one that answers later too", async () => {
  const catalog = memoryRuns();
  const run = await catalog.openForWriting("sweep/first", { now: () => 1_700_000_000_000 });
  for (let step = 0; step < 3; step++) {
    await run.append(step, fakeStep(step, createRng(step), { groupsPerStep: 1, groupSize: 2, fields: {} }));
  }
  const served = await serveDashboard({ runs: catalog, token: "t" });
  try {
    const ask = async <Answer>(path: string) => {
      const url = `http://127.0.0.1:${served.port}/api${path}`;
      const response = await fetch(url, { headers: { authorization: "Bearer t" } });
      return (await response.json()) as Answer;
    };
    expect(await ask("/runs")).toMatchObject({ total: 1, runs: [{ id: "sweep/first", steps: 3, env: "guess" }] });
    const id = encodeURIComponent("sweep/first");
    const { trajectories } = await ask<TrajectoriesAnswer>(`/runs/${id}/trajectories?success=true&limit=1`);
    expect(await ask(`/runs/${id}/trajectories/${trajectories[0].key}`)).toMatchObject({ summary: trajectories[0] });
    expect(await ask("/runs/other")).toMatchObject({ error: { code: "no-such-run" } });
  } finally {
    await served.close();
    await run.close();
  }
});

test("a run that was made anew under the same id is read, not the one before", async () => {
  const directory = join(folder, "runs/again");
  await writeFakeRun(directory, createRng(1), { steps: 2 });
  expect((await get<RunAnswer>("/runs/again")).summary.steps).toBe(2);
  await rm(directory, { recursive: true });
  await writeFakeRun(directory, createRng(1), { steps: 5 });
  expect(await get<RunAnswer>("/runs/again")).toMatchObject({ summary: { steps: 5 }, trajectories: 40 });
  await rm(directory, { recursive: true });
  expect((await fetch(address("/api/runs/again"), { headers: bearer })).status).toBe(404);
});

test("a folder that is not there is an error with a remedy", async () => {
  await expect(serveDashboard({ runs: join(folder, "none") })).rejects.toMatchObject({ code: "no-runs" });
  await expect(serveDashboard({ runs: folder, port: dashboard.port })).rejects.toMatchObject({ code: "cannot-listen" });
});
