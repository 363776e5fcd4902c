import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { metric } from "../../schema/metric-names.ts";
import { memoryRuns } from "../../store/index.ts";
import { attempt, groupOf } from "../fixtures/attempt.ts";
import { learnRow } from "../fixtures/learn-row.ts";
import { letters } from "../fixtures/letters.ts";
import { contextOf } from "../fixtures/step-context.ts";
import { replayGroups } from "../replay.ts";
import { fifoBuffer } from "../replay-buffer.ts";
import { RunRecorder } from "../run-recorder.ts";
import { earlierReport, evaluate } from "./evaluate.ts";
import { type RunState, record } from "./record.ts";

let folder: string;
let recorder: RunRecorder;
let runs: ReturnType<typeof memoryRuns>;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "ludus-record-"));
  runs = memoryRuns({ checkpoints: folder });
  recorder = await RunRecorder.open({ run: "r", store: runs, now: () => 0 }, 10);
  await recorder.begin({ env: { name: "letters" } });
});
afterEach(async () => {
  await recorder.close();
  rmSync(folder, { recursive: true });
});

const state: RunState = { tokens: 5, successes: [0.25] };
const group = groupOf(attempt("a", [[2, 3]], 1));
const extra = groupOf(attempt("x", [[4]], 0, { taskId: "other" }));

describe("record", () => {
  test("stores metrics, groups and what the guide added, and returns the next state", async () => {
    const metrics = { [metric.success]: 0.75, [metric.sampledTokens]: 20 };
    const context = { ...contextOf(letters()), recorder };
    const input = {
      step: 3,
      metrics,
      groups: [group],
      extra: [extra],
      rows: [],
      state: { ...state, klCoefficient: 2 },
    };
    expect(await record(context, input)).toEqual({ tokens: 25, successes: [0.25, 0.75], klCoefficient: 2 });
    const reader = await runs.open("r");
    expect(await reader.series(metric.success)).toMatchObject([{ step: 3, value: 0.75 }]);
    const { trajectories } = await reader.trajectories({}, { order: "oldest" });
    expect(trajectories.map(({ id, split }) => [id, split])).toEqual([
      ["a", "train"],
      ["x", "train"],
    ]);
    expect(await reader.state("trainer")).toMatchObject({
      step: 3,
      state: { replay: null, tokens: 25, successes: [0.25, 0.75], klCoefficient: 2 },
    });
    await reader.close();
  });

  test("a step without rollouts changes neither tokens nor successes", async () => {
    const context = { ...contextOf(letters()), recorder };
    expect(await record(context, { step: 0, metrics: {}, groups: [], rows: [], state })).toEqual(state);
  });

  test("remembers the last hundred successes, or as many as early stopping looks back at", async () => {
    const long = { tokens: 0, successes: Array.from({ length: 150 }, (_, i) => i) };
    const remembered = async (successWindow?: number) => {
      const context = { ...contextOf(letters()), recorder, ...(successWindow === undefined ? {} : { successWindow }) };
      const metrics = { [metric.success]: 1 };
      return (await record(context, { step: 0, metrics, groups: [], rows: [], state: long })).successes.length;
    };
    expect(await remembered()).toBe(100);
    expect(await remembered(5)).toBe(100);
    expect(await remembered(120)).toBe(120);
  });

  test("what was rolled out is replayed later, what the guide added is not", async () => {
    const buffer = fifoBuffer<ReturnType<typeof groupOf>>({ capacity: 9 });
    const context = { ...contextOf(letters()), recorder, replay: replayGroups({ buffer, share: 1 }) };
    await record(context, { step: 0, metrics: {}, groups: [group], extra: [extra], rows: [], state });
    expect(buffer.size).toBe(1);
  });

  test("advantages are stored at the tokens that were sampled, also of a row that is another view", async () => {
    const moved = groupOf(attempt("m", [[2, 3]], 1), attempt("n", [[2, 3]], 1));
    const rows = [
      // two tokens of the stored trajectory are not in the row
      learnRow({
        id: "m",
        tokens_T: Int32Array.of(1),
        advantages_T: Float32Array.of(0.5),
        viewOffset: 2,
        mask_T: Uint8Array.of(1),
      }),
      learnRow({ id: "n", tokens_T: Int32Array.of(1, 2, 3), advantages_T: Float32Array.of(0, 1, 2) }),
      learnRow({
        id: "a",
        tokens_T: Int32Array.of(1, 2, 3),
        mask_T: new Uint8Array(3),
        advantages_T: new Float32Array(3),
      }),
    ];
    await record({ ...contextOf(letters()), recorder }, { step: 0, metrics: {}, groups: [moved, group], rows, state });
    const reader = await runs.open("r");
    const { trajectories } = await reader.trajectories({}, { order: "oldest" });
    const stored = await Promise.all(trajectories.map(async ({ key }) => (await reader.trajectory(key)).advantages_T));
    expect(stored).toEqual([Float32Array.of(0, 0, 0.5), Float32Array.of(0, 1, 2), undefined]);
    await reader.close();
  });
});

describe("evaluate", () => {
  const contextFor = (evaluation: { tasks?: number; temperature?: number }, signal?: AbortSignal) => ({
    ...contextOf(letters({ turns: 1 }), signal === undefined ? {} : { signal }),
    recorder,
    evaluation,
  });

  test("measures on held-out tasks, and the report is found again by its name, without its rollouts", async () => {
    const report = await evaluate(contextFor({ tasks: 3 }), "before");
    expect(report).toMatchObject({ split: "test", tasks: 3 });
    expect(report?.rollouts).toHaveLength(3);
    expect(await earlierReport(recorder, "before")).toEqual({ ...report, rollouts: [] });
    expect(await earlierReport(recorder, "after")).toBeUndefined();
    const reader = await runs.open("r");
    expect(await reader.series(metric.evalSuccess)).toMatchObject([{ step: 0, value: report?.success.mean }]);
    await reader.close();
  });

  test("does nothing where no tasks are wanted or the run is stopped", async () => {
    expect(await evaluate(contextFor({ tasks: 0 }), "before")).toBeUndefined();
    expect(await evaluate(contextFor({ tasks: 3 }, AbortSignal.abort()), "before")).toBeUndefined();
    expect(await earlierReport(recorder, "before")).toBeUndefined();
  });

  test("an evaluation that is cut short is not recorded", async () => {
    const abort = new AbortController();
    const context = contextFor({ tasks: 3 }, abort.signal);
    const reported = evaluate(context, "before");
    abort.abort();
    expect(await reported).toBeUndefined();
    expect(await earlierReport(recorder, "before")).toBeUndefined();
  });

  test("is not repeated while the policy has not moved", async () => {
    const context = { ...contextOf(letters({ turns: 1 })), recorder, evaluation: { tasks: 3 } };
    await record(context, { step: 0, metrics: {}, groups: [], rows: [], state });
    const report = await evaluate(context, "step-0");
    expect(await evaluate(context, "after")).toBe(report);
    await record(context, { step: 1, metrics: {}, groups: [], rows: [], state });
    expect(await evaluate(context, "after")).not.toBe(report);
  });
});
