import { afterAll, beforeAll, expect, test } from "vitest";
import { byteTokenizer } from "../../policy/byte-tokenizer.ts";
import { makeScore } from "../../schema/score.ts";
import { makeTrajectoryGroup } from "../../schema/trajectory-group.ts";
import { memoryRuns, type RunStore } from "../../store/index.ts";
import { createCapture } from "../capture.ts";
import { scriptedModel } from "../testing/scripted-model.ts";
import { productionRecords, productionSplit } from "./production-records.ts";
import { type ShadowAnswer, type ShadowOptions, shadowEvaluate } from "./shadow.ts";

const even = (read: string) => Number(/number (\d+)/.exec(read)?.[1] ?? 0) % 2 === 0;
/** Says the right thing to every second user. */
const deployed = scriptedModel(() => "even");
const better = scriptedModel((read) => (even(read) ? "even" : "odd"));
const worse = scriptedModel(() => "what?");
const score = ({ read, text }: ShadowAnswer) => (text === (even(read) ? "even" : "odd") ? 1 : 0);

let store: RunStore;
beforeAll(async () => {
  store = await memoryRuns().openForWriting("traffic", { now: () => 0 });
  const tokenizer = byteTokenizer();
  const records = await productionRecords({ store, tokenizer, rate: 1, salt: "0123456789abcdef", now: () => 0 });
  const capturing = createCapture(deployed);
  for (let i = 0; i < 40; i++) {
    const { rollout } = await capturing.capture(async () => {
      const body = { model: "tiny", temperature: 0, messages: [{ role: "user", content: `What is number ${i}?` }] };
      await fetch("http://x.invalid/v1/chat/completions", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
    });
    const trajectories = rollout.trajectories({ taskId: "x", score: makeScore({}) });
    expect(await records.keep({ id: `s${i}`, consent: true }, trajectories)).toBe("kept");
  }
  capturing.close();
});
afterAll(() => store.close());

const shadow = (options: Partial<ShadowOptions>) =>
  shadowEvaluate({ traffic: store, candidate: better, score, filter: { split: productionSplit }, ...options });

test("a candidate that answers recorded traffic better is one to promote", async () => {
  const report = await shadow({});
  expect(report).toMatchObject({ episodes: 40, turns: 40, verdict: "promote", failures: [] });
  expect(report.recorded.mean).toBe(0.5);
  expect(report.candidate.mean).toBe(1);
  expect(report.same).toBe(0.5);
  expect(report.difference.low).toBeGreaterThan(0.3);
});

test("one that is worse is rejected, one that says the same is undecided, and few episodes decide nothing", async () => {
  expect((await shadow({ candidate: worse })).verdict).toBe("reject");
  expect(await shadow({ candidate: deployed })).toMatchObject({ verdict: "undecided", same: 1 });
  expect(await shadow({ episodes: 20 })).toMatchObject({ episodes: 20, verdict: "undecided" });
});

test("an episode that cannot be scored is counted apart", async () => {
  const fragile = (answer: ShadowAnswer) => {
    if (answer.episode === "s3") throw new Error("judge is away");
    return answer.episode === "s4" ? Number.NaN : score(answer);
  };
  const report = await shadow({ score: fragile });
  expect(report.episodes).toBe(38);
  expect(report.failures.map(({ problem }) => problem)).toEqual([
    expect.stringMatching(/bad-score: got NaN/),
    "judge is away",
  ]);
  const away = () => Promise.reject(new Error("judge is away"));
  await expect(shadow({ score: away })).rejects.toThrow(/shadow-failed.*judge is away/s);
});

test("without traffic, with a model of another vocabulary or a misspelt option there is nothing to compare", async () => {
  await expect(shadow({ filter: { split: "train" } })).rejects.toThrow(/no-traffic/);
  const other = { ...better, tokenizer: { ...better.tokenizer, vocabularySize: 90 } };
  await expect(shadow({ candidate: other })).rejects.toThrow(/other-tokenizer/);
  await expect(shadow({ scores: score } as never)).rejects.toThrow(/did you mean "score"/);
  const controller = new AbortController();
  controller.abort();
  await expect(shadow({ signal: controller.signal })).rejects.toThrow(/abort/i);
});

test("trajectories of one episode are one observation", async () => {
  const split = await memoryRuns().openForWriting("split", { now: () => 0 });
  const { trajectories } = await store.trajectories({}, { order: "oldest", limit: 4 });
  // two episodes, of twenty trajectories each
  for (const [e, { key }] of trajectories.slice(0, 2).entries()) {
    const { trajectory } = await store.trajectory(key);
    const task = { id: `e${e}`, seed: 0, data: {} };
    const parts = Array.from({ length: 20 }, (_, i) => ({
      ...trajectory,
      id: `e${e}/${i}`,
      rollout: `e${e}`,
      taskId: task.id,
      weight: 1 / 20,
    }));
    await split.append(0, { groups: [{ group: makeTrajectoryGroup(task, parts), split: productionSplit }] });
  }
  const report = await shadow({ traffic: split });
  expect(report).toMatchObject({ episodes: 2, turns: 40, verdict: "undecided" });
  await split.close();
});

test("a stop during the last episode is a stop, not a failure of the episode", async () => {
  const stop = new AbortController();
  const aborted = (): number => {
    stop.abort(new Error("stopped"));
    throw new Error("the judge was interrupted");
  };
  await expect(shadow({ episodes: 1, score: aborted, signal: stop.signal })).rejects.toThrow("stopped");
});
