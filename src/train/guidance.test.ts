import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { defined } from "../defined.ts";
import { fakeEngine } from "../engine/fake-engine.ts";
import { guidance } from "../guide/guidance/guidance.ts";
import { scriptedHints } from "../guide/guidance/scripted-hints.ts";
import { withoutHint } from "../guide/guidance/without-hint.ts";
import type { TurnAnnotations } from "../schema/annotations.ts";
import { hintOf, makeTrajectory, type Trajectory } from "../schema/trajectory.ts";
import type { TrajectoryGroup } from "../schema/trajectory-group.ts";
import { openRun } from "../store/index.ts";
import type { Algorithm } from "./algorithm.ts";
import { fakePolicy } from "./fixtures/fake-policy.ts";
import { remains } from "./fixtures/kill-and-resume.ts";
import { type LettersTask, letters } from "./fixtures/letters.ts";
import { tinyPolicy } from "./fixtures/tiny-policy.ts";
import { trainOffline } from "./offline.ts";
import { cispo, dapo, deepswe, drGrpo, gigpo, grpo, gspo, mGrpo, rloo, vspo } from "./presets/grpo.ts";
import { type GuidedOptions, guided, guidedPairs } from "./presets/guided.ts";
import { dpo, rejectionTuning } from "./presets/offline.ts";
import { ppo, vapo } from "./presets/ppo.ts";
import { reinforcePlusPlus, remax } from "./presets/reinforce.ts";
import { starpo, starpoS } from "./presets/starpo.ts";
import { prepare } from "./stages/prepare.ts";
import { update } from "./stages/update.ts";
import { storedTrajectories } from "./stored-groups.ts";
import { train } from "./train-sync.ts";
import { imitate } from "./warm-start.ts";

const ln = Math.log;

const hint = { kind: "plan", text: "!!" };
const told: TurnAnnotations = { hint: { ...hint, prompt_P: Int32Array.of(1, 2) } };

/** Two turns after the prompt `[1, 2]`, or with a hint after `[1, 5, 5, 2]`. */
function attempt(id: string, total: number, isGuided: boolean, logprob = ln(0.8)): Trajectory {
  const prompt = isGuided ? [1, 5, 5, 2] : [1, 2];
  const at = prompt.length;
  const mask = [...prompt.map(() => 0), 1, 1, 0, 1];
  const turn = { text: "", calls: [], reward: 0, observation: "" };
  return makeTrajectory({
    id,
    rollout: id,
    taskId: "task",
    role: "agent",
    weights: "policy",
    weight: 1,
    stop: "completed" as const,
    tokens_T: Int32Array.of(...prompt, 3, 4, 6, 3),
    mask_T: Uint8Array.from(mask),
    temperature: 1,
    logprobs_T: Float32Array.from(mask, (m) => (m === 1 ? logprob : 0)),
    versions_T: Int32Array.from(mask, (m) => (m === 1 ? 0 : -1)),
    turns: [
      { ...turn, ...defined({ annotations: isGuided ? told : undefined }), span: { start: at, end: at + 2 } },
      { ...turn, span: { start: at + 3, end: at + 4 } },
    ],
    score: { total, parts: {}, success: total >= 1 },
  });
}

function groupOf(failures: readonly number[], ...trajectories: Trajectory[]): TrajectoryGroup {
  const annotations = failures.length === 0 ? undefined : { hint, failures };
  return { task: { id: "task", seed: 0, data: undefined, ...defined({ annotations }) }, trajectories };
}

/** Every token has the probability 1/8, but after a prompt with a hint (token 5) the tokens 3 and 4 have 0.4 each. */
const engine = () =>
  fakeEngine({
    vocabularySize: 8,
    distribution: (tokens) => (tokens.includes(5) ? [1, 1, 1, 6, 6, 0, 0, 0] : Array<number>(8).fill(1)),
    value: () => 0.25,
  });

const unguided = groupOf([], attempt("a", 1, false, ln(1 / 8)), attempt("b", 0, false, ln(1 / 8)));
const allHelped = groupOf([0, 0], attempt("c", 1, true), attempt("d", 1, true));
const once = (...groups: TrajectoryGroup[]) => groups.map((group) => ({ group, scale: 1 }));

/** The derivatives of one update. */
async function learn(algorithm: Algorithm, ...groups: TrajectoryGroup[]) {
  const made = engine();
  const policy = { engine: made };
  const prepared = await prepare({ policy, algorithm, learners: ["policy"] }, { groups: once(...groups) });
  const metrics = await update({ policy, algorithm, learningStep: 0, progress: 0, seed: 0 }, prepared);
  const [backward] = made.backwards;
  const derivatives_B_T = backward?.derivatives.logprobs_B_T?.map((row_T) => [...row_T]);
  return { rows: prepared.rows, metrics: { ...prepared.metrics, ...metrics }, derivatives_B_T };
}

describe("an attempt without its hint", () => {
  test("has the prompt without, and everything else moved along", () => {
    const stripped = withoutHint(attempt("a", 1, true));
    expect(stripped).toStrictEqual(attempt("a", 1, false));
    expect(withoutHint(stripped)).toBe(stripped);
  });

  test("may have a prompt that is the longer one", () => {
    const plain = attempt("a", 1, false);
    const longer = { ...hint, prompt_P: Int32Array.of(7, 7, 7, 2) };
    const odd = { ...plain, turns: [{ ...plain.turns[0], annotations: { hint: longer, seen: true } }, plain.turns[1]] };
    const { tokens_T, turns } = withoutHint(odd);
    expect([...tokens_T]).toEqual([7, 7, 7, 2, 3, 4, 6, 3]);
    expect(turns[1].span).toEqual({ start: 7, end: 8 });
    expect(turns[0].annotations).toEqual({ seen: true });
  });
});

describe("guidance in context", () => {
  test("changes nothing but the name", async () => {
    const algorithm = guided(grpo(), { condition: "context" });
    expect(algorithm.name).toBe("grpo-guided-context");
    const mixed = groupOf([0, 0], attempt("c", 1, true), attempt("d", 0, true));
    const plain = await learn(grpo(), unguided, mixed);
    expect(await learn(algorithm, unguided, mixed)).toEqual(plain);
    expect(plain.rows[2].tokens_T).toHaveLength(8);
    expect(plain.rows[2].viewOffset).toBeUndefined();
  });
});

describe("stripped guidance", () => {
  const deviation = { scale: "none" } as const;

  test("is learned from under the prompt without the hint, with that policy's log-probabilities", async () => {
    const { rows, metrics } = await learn(guided(grpo(), { offPolicy: "importance" }), allHelped);
    expect([...rows[0].tokens_T]).toEqual([1, 2, 3, 4, 6, 3]);
    expect(rows[0].turns).toEqual([
      { start: 2, end: 4 },
      { start: 5, end: 6 },
    ]);
    for (const t of [2, 3, 5]) {
      expect(rows[0].oldLogprobs_T[t]).toBeCloseTo(ln(1 / 8), 6);
      expect(rows[0].behaviourLogprobs_T[t]).toBeCloseTo(ln(0.8), 6);
    }
    // of another prompt, so no sign of a sampler that computes otherwise
    expect(metrics["policy/mismatch-max"]).toBeUndefined();
  });

  test("is compared with the failures before it", async () => {
    const advantageOf = async (algorithm: Algorithm) => (await learn(algorithm, allHelped)).rows[0].advantages_T[2];
    // rewards 1 1 0 0: mean 0.5, deviation sqrt(1/3)
    expect(await advantageOf(guided(grpo()))).toBeCloseTo(0.5 / Math.sqrt(1 / 3), 4);
    expect(await advantageOf(guided(grpo({ deviation })))).toBeCloseTo(0.5, 6);
    expect(await advantageOf(guided(rloo()))).toBeCloseTo(2 / 3, 6);
    expect(await advantageOf(grpo())).toBe(0);
  });

  test("by importance: advantages times the truncated ratio of both policies, once", async () => {
    const options = { offPolicy: "importance" } as const;
    const algorithm = guided(grpo({ deviation }), options);
    const { derivatives_B_T, metrics } = await learn(algorithm, allHelped);
    const ratio = 1 / 8 / 0.8;
    // -A w / (2 rows of 3 tokens)
    for (const t of [2, 3, 5]) expect(derivatives_B_T![0][t]).toBeCloseTo((-0.5 * ratio) / 6, 6);
    expect(metrics["guided/weight"]).toBeCloseTo(ratio, 6);
    const capped = await learn(guided(grpo({ deviation }), { ...options, cap: 0.1 }), allHelped);
    expect(capped.derivatives_B_T![0][2]).toBeCloseTo((-0.5 * 0.1) / 6, 6);
    const whole = await learn(guided(grpo({ deviation }), { ...options, level: "sequence" }), allHelped);
    expect(whole.derivatives_B_T![0][2]).toBeCloseTo((-0.5 * ratio ** 3) / 6, 7);
  });

  test("by imitation: -log π of what succeeded, and the rest as if there were no guided attempts", async () => {
    const mixed = groupOf([0, 0], attempt("c", 1, true), attempt("d", 0, true));
    const algorithm = guided(grpo({ deviation }), { offPolicy: "imitate", coefficient: 0.5 });
    const { derivatives_B_T, rows, metrics } = await learn(algorithm, unguided, mixed);
    const alone = await learn(grpo({ deviation }), unguided);
    expect(derivatives_B_T!.slice(0, 2)).toEqual(alone.derivatives_B_T);
    // the failure is not learned from
    expect(derivatives_B_T).toHaveLength(3);
    for (const t of [2, 3, 5]) expect(derivatives_B_T![2][t]).toBeCloseTo(-0.5 / 3, 6);
    expect(rows.map(({ id, mask_T }) => [id, mask_T.includes(1)])).toEqual([
      ["a", true],
      ["b", true],
      ["c", true],
      ["d", false],
    ]);
    expect(metrics["loss/guided-imitation"]).toBeCloseTo(0.5 * ln(8), 5);
  });

  test("by imitation alone, where nothing else is there to learn from", async () => {
    const { derivatives_B_T, metrics } = await learn(guided(grpo()), allHelped);
    expect(derivatives_B_T![0][2]).toBeCloseTo(-1 / 6, 6);
    expect(Object.values(metrics).every(Number.isFinite)).toBe(true);
  });
});

describe("pairs of guided successes and unguided failures", () => {
  test("are both of the prompt without the hint", () => {
    const [helped, failed] = [attempt("c", 1, true), attempt("b", 0, false)];
    const group = groupOf([], attempt("a", 1, false), failed, helped, attempt("d", 0, true));
    const pairs = guidedPairs(group, { choose: "all" });
    expect(pairs).toHaveLength(1);
    expect(pairs[0].chosen[0].trajectory).toEqual(withoutHint(helped));
    expect(pairs[0].rejected[0].trajectory).toBe(failed);
  });
});

// Says `a` where it is not told otherwise, so tasks with another letter fail; a hint is the letter after a `!`.
const env = letters({ turns: 1, alphabet: "aabc" });
const hints = scriptedHints<LettersTask>({ environment: ({ task }) => `!${task.data.word}` });
const toldLetter = (tokens: readonly number[]) => tokens[tokens.indexOf(33) + 1];
const policy = () =>
  fakePolicy((_version, tokens) => (tokens.includes(33) ? (toldLetter(tokens) === 98 ? 0.1 : 0.6) : 0.97), {
    value: () => 0.5,
  });

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ludus-guided-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const config = (algorithm: Algorithm) => ({
  env,
  policy: policy(),
  algorithm,
  guide: guidance({ hints, probability: () => 1, waiting: 8 }),
  steps: 4,
  tasksPerStep: 6,
  eval: { tasks: 0 },
  run: folder,
});

test("a run says which trajectories were guided, by what, and what was learned from them", async () => {
  const { metrics } = await train(config(guided(grpo({ groupSize: 4 }))));
  expect(metrics["guidance/share"]).toBe(0.5);
  expect(metrics["guidance/success"]).toBeGreaterThan(0.3);
  const run = await openRun(folder, { readOnly: true });
  const { trajectories } = await run.trajectories({ annotations: { hint: true } }, { limit: 500 });
  const stored = await Promise.all(trajectories.map(({ key }) => run.trajectory(key)));
  expect(await run.config()).toMatchObject({ guide: "guidance", algorithm: { view: "function withoutHint" } });
  await run.close();
  expect(stored.length).toBeGreaterThan(10);
  for (const { summary, task, trajectory, advantages_T } of stored) {
    const word = (task.data as LettersTask).word;
    expect(summary.annotations).toEqual({ hint: "environment" });
    const written = { kind: "environment", text: `!${word}` };
    expect(task.annotations).toEqual({ hint: written, failures: [0, 0, 0, 0] });
    expect(hintOf(trajectory)).toMatchObject(written);
    // as it was sampled: the letter, a new line, the hint, the token that gives the word
    expect([...trajectory.tokens_T.slice(0, 5)]).toEqual([...Buffer.from(`${word}\n!${word}`), 256]);
    expect([...hintOf(trajectory)!.prompt_P]).toEqual([...Buffer.from(word), 256]);
    if (advantages_T === undefined) continue;
    const sampled = [...advantages_T].map((advantage, t) => (advantage !== 0 ? t : -1)).filter((t) => t >= 0);
    expect(sampled.every((t) => trajectory.mask_T[t] === 1)).toBe(true);
    expect(sampled.length).toBeGreaterThan(0);
  }
  expect(stored.some(({ advantages_T }) => advantages_T !== undefined)).toBe(true);
});

test("hints that always help are learned from without the hint, and not in context, where all attempts are equal", async () => {
  // `b` where a hint says so, else `a`, which is wrong
  const obedient = () => fakePolicy((_version, tokens) => (tokens.includes(33) ? 0 : 1 - 1e-6));
  const learned = async (options: GuidedOptions) => {
    const { run: _run, ...rest } = config(guided(grpo({ groupSize: 4 }), options));
    const { metrics } = await train({ ...rest, env: letters({ turns: 1, alphabet: "b" }), policy: obedient() });
    expect(metrics["guidance/success"]).toBe(1);
    return metrics["filter/kept-groups"];
  };
  expect(await learned({ condition: "context" })).toBe(0);
  expect(await learned({ offPolicy: "imitate" })).toBe(0.5);
  expect(await learned({ offPolicy: "importance" })).toBe(0.5);
});

test("a run that is stopped and gone on with leaves the same bits as one that never stopped", async () => {
  const live = async (run: string, ...lives: number[]) => {
    for (const steps of lives) {
      const { policy } = await train({
        env: letters({ alphabet: "abc" }),
        policy: tinyPolicy(),
        seed: 5,
        warmStart: imitate({ demonstrations: 20, noise: 0.8, steps: 6, batchSize: 8, learningRate: 1e-2 }),
        algorithm: guided(grpo({ groupSize: 4, learningRate: 3e-3 }), { offPolicy: "importance" }),
        guide: guidance({ hints, probability: (passRate) => 0.9 - passRate, share: 0.4, window: 6 }),
        steps,
        tasksPerStep: 4,
        eval: { tasks: 0 },
        run: join(folder, run),
        save: { every: 1, retain: 20 },
      });
      await policy.engine.close();
    }
    return remains(join(folder, run));
  };
  const [whole, stopped] = [await live("whole", 6), await live("stopped", 2, 3, 6)];
  expect(Object.keys(whole).filter((part) => !isDeepStrictEqual(stopped[part], whole[part]))).toEqual([]);
  expect(JSON.stringify(whole.state)).toContain('"waiting":[{"task"');
  expect(JSON.stringify(whole.metrics)).toContain('"guidance/success"');
}, 60_000);

test("what a run has stored gives pairs to learn from offline", async () => {
  await train(config(guided(grpo({ groupSize: 4 }))));
  const run = await openRun(folder, { readOnly: true });
  const algorithm = dpo({ pairs: guidedPairs });
  const learned = await trainOffline({ policy: policy(), trajectories: storedTrajectories(run), algorithm });
  await run.close();
  expect(learned.examples).toBeGreaterThan(2);
  expect(learned.metrics["update/loss"]).toBeCloseTo(ln(2), 5);
});

const readings: [string, GuidedOptions][] = [
  ["in context", { condition: "context" }],
  ["stripped, by importance", { offPolicy: "importance" }],
  ["stripped, imitated", { offPolicy: "imitate" }],
];
const algorithms: readonly Algorithm[] = [
  ...[grpo({ kl: 0.01, uniformGroups: "keep", entropy: 0.01 }), mGrpo(), drGrpo(), dapo(), gspo({ miniBatches: 2 })],
  ...[cispo({ epochs: 2 }), rloo(), deepswe(), vspo(), gigpo(), ppo(), ppo({ level: "step" }), starpo(), starpoS()],
  ...[ppo({ level: { turnGamma: 0.9 }, critic: { kind: "separate" } }), vapo({ pretrainSteps: 1 }), remax()],
  ...[reinforcePlusPlus(), reinforcePlusPlus({ baseline: true, kl: 0.1, groupSize: 4 }), rejectionTuning()],
];

describe.each(readings)("guidance %s", (_, options) => {
  test.each(algorithms.map((algorithm) => [algorithm.name, algorithm] as const))(
    "goes with %s",
    async (_name, algorithm) => {
      const steps: Record<string, number>[] = [];
      const monitor = {
        name: "test",
        record: (event: { type: string; metrics?: Readonly<Record<string, number>> }) => {
          if (event.type === "step-end") steps.push({ ...event.metrics });
        },
      };
      const { run: _run, ...rest } = config(guided(algorithm, options));
      await train({ ...rest, steps: 2, monitors: [monitor] });
      expect(steps.some((metrics) => metrics["guidance/share"] > 0)).toBe(true);
      for (const metrics of steps) {
        expect(Object.entries(metrics).filter(([, value]) => !Number.isFinite(value))).toEqual([]);
        expect(metrics["update/unsampled-share"] ?? 0).toBe(0);
      }
    },
  );
});
