import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { fakeEngine } from "../engine/fake-engine.ts";
import { byteTokenizer } from "../policy/byte-tokenizer.ts";
import { compactRenderer } from "../policy/compact-renderer.ts";
import { collect } from "../schema/collect.ts";
import { openRun } from "../store/index.ts";
import { attempt, groupOf } from "./fixtures/attempt.ts";
import { fakePolicy } from "./fixtures/fake-policy.ts";
import { letters } from "./fixtures/letters.ts";
import { tinyPolicy } from "./fixtures/tiny-policy.ts";
import { trainOffline } from "./offline.ts";
import type { OfflineAlgorithm } from "./offline-algorithm.ts";
import { stepPairs } from "./pairs.ts";
import { grpo } from "./presets/grpo.ts";
import { dpo, imitateOffline, kto, rejectionTuning } from "./presets/offline.ts";
import { storedGroups, storedTrajectories } from "./stored-groups.ts";
import { train } from "./train-sync.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ludus-offline-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const renderer = compactRenderer({ tokenizer: byteTokenizer() });
/** Ten tokens, all as probable. */
const flat = () => ({ engine: fakeEngine({ vocabularySize: 10, distribution: new Array(10).fill(1) }), renderer });
const group = groupOf(attempt("good", [[2, 3], [4]], 1), attempt("bad", [[2, 5], [6]], 0));

describe("derivatives", () => {
  const derivatives = async (algorithm: OfflineAlgorithm) => {
    const policy = flat();
    const { metrics } = await trainOffline({ policy, groups: [group], algorithm, steps: 1 });
    const { batch, derivatives } = policy.engine.backwards[0];
    const rows = batch.rows.map(({ tokens }, b) => [Array.from(tokens), Array.from(derivatives.logprobs_B_T![b])]);
    return { metrics, rows: new Map(rows.map(([tokens, row]) => [tokens.join(), row])) };
  };
  const [good, bad] = group.trajectories.map(({ tokens_T }) => tokens_T.join());

  test("of imitation: all that was said, nothing that was read", async () => {
    const { rows } = await derivatives(imitateOffline());
    const each = Math.fround(-1 / 6);
    expect(rows.get(good)).toEqual([0, each, each, 0, each]);
    expect(rows.get(bad)).toEqual([0, each, each, 0, each]);
  });

  test("of rejection tuning: what succeeded alone", async () => {
    const { rows } = await derivatives(rejectionTuning());
    const each = Math.fround(-1 / 3);
    expect([...rows]).toEqual([[good, [0, each, each, 0, each]]]);
  });

  test("of DPO at the reference: loss ln 2, slope β/2, up on one side and down on the other", async () => {
    const { rows, metrics } = await derivatives(dpo({ beta: 0.2 }));
    expect(metrics["update/loss"]).toBeCloseTo(Math.log(2), 6);
    const slope = Math.fround(0.1);
    expect(rows.get(good)).toEqual([0, -slope, -slope, 0, -slope]);
    expect(rows.get(bad)).toEqual([0, slope, slope, 0, slope]);
  });

  test("of DPO on steps: the turn where they parted, and no other", async () => {
    const { rows } = await derivatives(dpo({ beta: 0.2, pairs: stepPairs }));
    const slope = Math.fround(0.1);
    expect(rows.get(good)).toEqual([0, -slope, -slope, 0, 0]);
    expect(rows.get(bad)).toEqual([0, slope, slope, 0, 0]);
  });

  test("of DPO with stored log-probabilities: no reference is kept, the margin is from those", async () => {
    const policy = flat();
    const algorithm = dpo({ beta: 1, reference: "stored", pairs: (each) => [{ ...both(each), gap: 1 }] });
    const { metrics } = await trainOffline({ policy, groups: [group], algorithm, steps: 1 });
    expect(policy.engine.info.weights).toEqual(["policy"]);
    // three tokens on each side, log 0.1 now and -0.5 then: the same on both
    expect(metrics["dpo/reward-chosen"]).toBeCloseTo(3 * (Math.log(0.1) + 0.5), 5);
    expect(metrics["update/loss"]).toBeCloseTo(Math.log(2), 6);
  });

  const both = ({ trajectories: [chosen, rejected] }: typeof group) => ({
    chosen: [{ trajectory: chosen }],
    rejected: [{ trajectory: rejected }],
  });

  test("of KTO: good ones up, bad ones down", async () => {
    const { rows, metrics } = await derivatives(kto({ beta: 0.4 }));
    // λ(1 - σ(0)) each, mean over two rollouts
    expect(metrics["update/loss"]).toBeCloseTo(0.5, 6);
    expect(rows.get(good)![1]).toBeCloseTo(-0.4 * 0.25 * 0.5, 6);
    expect(rows.get(bad)![1]).toBeCloseTo(0.4 * 0.25 * 0.5, 6);
  });
});

describe("the data", () => {
  test("every example once an epoch, each epoch in another order", async () => {
    const policy = flat();
    const trajectories = Array.from({ length: 6 }, (_, i) => attempt(`${i}`, [[i]], 1));
    const given = { policy, trajectories, algorithm: imitateOffline(), epochs: 3, batchSize: 2 };
    expect(await trainOffline(given)).toMatchObject({ steps: 9, examples: 6, reason: "finished" });
    const order = policy.engine.backwards.flatMap(({ batch }) => batch.rows.map(({ tokens }) => tokens[1]));
    for (const epoch of [0, 1, 2]) expect(order.slice(6 * epoch, 6 * epoch + 6).sort()).toEqual([0, 1, 2, 3, 4, 5]);
    expect(order.slice(0, 6)).not.toEqual(order.slice(6, 12));
  });

  test("may come as they are read, and in a batch larger than they are", async () => {
    async function* source() {
      yield group;
    }
    const policy = flat();
    await trainOffline({ policy, groups: source(), algorithm: imitateOffline(), batchSize: 32 });
    expect(policy.engine.backwards.map(({ batch }) => batch.rows.length)).toEqual([2]);
  });

  test("of which nothing can be learned are refused, as are two sources and none", async () => {
    const algorithm = dpo();
    const equal = groupOf(attempt("a", [[2]], 1), attempt("b", [[3]], 1));
    await expect(trainOffline({ policy: flat(), groups: [equal], algorithm })).rejects.toThrow(/no-examples/);
    await expect(trainOffline({ policy: flat(), algorithm })).rejects.toThrow(/neither/);
    await expect(trainOffline({ policy: flat(), algorithm, groups: [], trajectories: [] })).rejects.toThrow(/both/);
    const twice = { policy: flat(), algorithm: imitateOffline(), groups: [group], steps: 1, epochs: 1 };
    await expect(trainOffline(twice)).rejects.toThrow(/both steps and epochs/);
  });

  test("of a stored run are what the run had", async () => {
    const env = letters({ turns: 1 });
    const run = join(folder, "run");
    await train({
      env,
      policy: fakePolicy(),
      algorithm: grpo({ groupSize: 4 }),
      steps: 2,
      tasksPerStep: 60,
      run,
      eval: { tasks: 1 },
    });
    const reader = await openRun(run, { readOnly: true });
    const groups = await collect(storedGroups(reader));
    expect(groups).toHaveLength(120);
    expect(groups.every(({ trajectories }) => trajectories.length === 4)).toBe(true);
    const successes = await collect(storedTrajectories(reader, { success: true }));
    expect(successes.length).toBe(
      groups.flatMap(({ trajectories }) => trajectories.filter(({ score }) => score.success)).length,
    );
    const policy = fakePolicy();
    const result = await trainOffline({
      policy,
      groups: storedGroups(reader),
      algorithm: rejectionTuning(),
      batchSize: 16,
    });
    expect(result.examples).toBe(successes.length);
    await reader.close();
  });
});

test("what was said by better attempts becomes more probable, by worse ones less", async () => {
  const env = letters({ turns: 1, alphabet: "a" });
  const made = await tinyPolicy()(env, 0);
  const said = (letter: string, total: number) => {
    const tokens_T = Int32Array.of(
      ...made.renderer.start([{ role: "user", content: "a" }], []),
      ...made.renderer.say(letter),
    );
    const start = tokens_T.length - 2;
    const mask_T = Uint8Array.from(tokens_T, (_, t) => (t >= start ? 1 : 0));
    return attempt(letter, [], total, {
      tokens_T,
      mask_T,
      logprobs_T: new Float32Array(tokens_T.length),
      versions_T: Int32Array.from(mask_T, (m) => m - 1),
      turns: [{ span: { start, end: tokens_T.length }, text: letter, calls: [], reward: 0, observation: "" }],
    });
  };
  const pair = groupOf(said("a", 1), said("b", 0));
  const logprob = async ({ tokens_T, mask_T }: ReturnType<typeof said>) => {
    const { logprobs_B_T } = await made.engine.forward({ rows: [{ tokens: tokens_T, mask: mask_T }] });
    return logprobs_B_T[0][tokens_T.length - 2];
  };
  const [a, b] = [pair.trajectories[0], pair.trajectories[1]];
  const before = (await logprob(a)) - (await logprob(b));
  const { metrics } = await trainOffline({
    policy: made,
    groups: [pair],
    algorithm: dpo({ learningRate: 3e-3 }),
    steps: 30,
  });
  expect((await logprob(a)) - (await logprob(b))).toBeGreaterThan(before + 1);
  expect(metrics["dpo/accuracy"]).toBe(1);
  await made.engine.close();
});

test("a run that was stopped goes on to the same bits", async () => {
  const env = letters({ turns: 1, alphabet: "a" });
  const data = Array.from({ length: 8 }, (_, i) => {
    const tokens = [97, 98 + i, 99];
    return attempt(`${i}`, [tokens], i % 2, { taskId: `${i >> 1}` });
  });
  const weights = async (run: string, stopAfter?: number) => {
    const abort = new AbortController();
    const monitor = {
      name: "stop",
      record: (event: { type: string; step?: number }) => {
        if (event.type === "step-end" && event.step === stopAfter) abort.abort();
      },
    };
    const policy = await tinyPolicy()(env, 0);
    const config = { policy, trajectories: data, algorithm: dpo(), steps: 6, batchSize: 2, run };
    const result = await trainOffline({ ...config, signal: abort.signal, monitors: [monitor] });
    await policy.engine.close();
    return { result, bytes: () => readFileSync(join(run, "checkpoints", "step-000005", "model.safetensors")) };
  };
  const whole = await weights(join(folder, "whole"));
  const first = await weights(join(folder, "halves"), 2);
  expect(first.result).toMatchObject({ reason: "stopped", steps: 3 });
  const second = await weights(join(folder, "halves"));
  expect(second.result).toMatchObject({ reason: "finished", steps: 6 });
  expect(second.bytes()).toEqual(whole.bytes());
  const reader = await openRun(join(folder, "halves"), { readOnly: true });
  expect(await reader.series("dpo/margin")).toHaveLength(6);
  await reader.close();
  const other = {
    policy: await tinyPolicy()(env, 0),
    trajectories: data.slice(2),
    algorithm: dpo(),
    steps: 9,
    batchSize: 2,
  };
  await expect(trainOffline({ ...other, run: join(folder, "halves") })).rejects.toThrow(/the same data/);
  await other.policy.engine.close();
});
