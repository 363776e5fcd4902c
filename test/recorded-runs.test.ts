// Short runs of every trainer, and the bits they left before the trainer was cut into stages. Hashes depend on the machine, so this
// file lives for one range of commits only: `RECORD=1 npm test -- recorded-runs` writes them, and the last commit of the range removes both.
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import type { Engine } from "../src/engine/engine.ts";
import { frozenLake } from "../src/env/environments/frozen-lake.ts";
import { lock } from "../src/env/environments/lock.ts";
import { guidance } from "../src/guide/guidance/guidance.ts";
import { scriptedHints } from "../src/guide/guidance/scripted-hints.ts";
import { adaptiveKl } from "../src/loss/kl-controller.ts";
import { observationStubs } from "../src/rollout/context.ts";
import { encodeTrajectory } from "../src/schema/trajectory-binary.ts";
import { openRun } from "../src/store/index.ts";
import type { Algorithm } from "../src/train/algorithm.ts";
import { letters } from "../src/train/fixtures/letters.ts";
import { tinyPolicy } from "../src/train/fixtures/tiny-policy.ts";
import { fromScratch } from "../src/train/from-scratch.ts";
import type { LearningPolicy } from "../src/train/learning-policy.ts";
import { trainOffline } from "../src/train/offline.ts";
import { cispo, dapo, deepswe, drGrpo, gigpo, grpo, gspo, mGrpo, rloo, vspo } from "../src/train/presets/grpo.ts";
import { guided } from "../src/train/presets/guided.ts";
import { dpo, imitateOffline, kto, rejectionTuning } from "../src/train/presets/offline.ts";
import { ppo, reinforcePlusPlus, remax, starpo, starpoS, vapo } from "../src/train/presets/ppo.ts";
import { replayGroups, replaySuccesses } from "../src/train/replay.ts";
import { fifoBuffer, priorityBuffer } from "../src/train/replay-buffer.ts";
import { trainScorer } from "../src/train/scorer.ts";
import { storedGroups, storedTrajectories } from "../src/train/stored-groups.ts";
import type { TrainConfig } from "../src/train/train.ts";
import { train } from "../src/train/train-sync.ts";
import { imitate } from "../src/train/warm-start.ts";

const file = join(import.meta.dirname, "recorded-runs.json");
const recorded: Record<string, unknown> = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
const seen: Record<string, unknown> = {};
const folder = mkdtempSync(join(tmpdir(), "ludus-recorded-"));

afterAll(() => {
  rmSync(folder, { recursive: true });
  if (process.env.RECORD) writeFileSync(file, `${JSON.stringify(seen, null, 1)}\n`);
});

const sha = (...parts: (string | Uint8Array)[]) => {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest("hex").slice(0, 20);
};

let saves = 0;
async function weightsOf(engine: Engine): Promise<string> {
  const directory = join(folder, `weights-${saves++}`);
  await engine.save(directory);
  const files = readdirSync(directory, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".safetensors"))
    .sort();
  return sha(...files.map((name) => readFileSync(join(directory, name))));
}

function check(name: string, bits: unknown): void {
  seen[name] = JSON.parse(JSON.stringify(bits));
  if (!process.env.RECORD) expect(seen[name]).toEqual(recorded[name]);
}

const watched = ["rollout/reward", "rollout/success", "update/loss", "update/gradient-norm", "rollout/sampled-tokens"];
const warm = imitate({ demonstrations: 60, noise: 0.4, steps: 25, batchSize: 16, learningRate: 1e-2 });

async function bitsOf(name: string, config: Partial<TrainConfig<never>> & { algorithm: Algorithm }) {
  const run = join(folder, name);
  const series: number[] = [];
  const result = await train({
    env: letters({ alphabet: "ab", choices: "abc" }),
    policy: tinyPolicy({ valueHead: true }),
    warmStart: warm,
    steps: 4,
    tasksPerStep: 4,
    eval: { tasks: 8, every: 2 },
    run,
    save: { every: 3 },
    seed: 5,
    monitors: [
      {
        name: "series",
        record(event) {
          if (event.type !== "step-end") return;
          for (const each of watched) series.push(event.metrics[each] ?? -1);
        },
      },
    ],
    ...config,
  } as TrainConfig);
  const weights = await weightsOf(result.policy.engine);
  await result.policy.engine.close();
  const reader = await openRun(run, { readOnly: true });
  const stored: (string | Uint8Array)[] = [];
  const { trajectories } = await reader.trajectories({}, { order: "oldest", limit: 1000 });
  for (const { key } of trajectories) {
    const { trajectory, advantages_T } = await reader.trajectory(key);
    const { tokens_T, mask_T, logprobs_T, versions_T } = trajectory;
    stored.push(trajectory.id, sha(new Uint8Array(tokens_T.buffer.slice(0)), mask_T));
    stored.push(String(logprobs_T), String(versions_T), String(advantages_T), String(trajectory.score.total));
  }
  await reader.close();
  const { before, after, reason, steps } = result;
  return {
    weights,
    reason,
    steps,
    series: sha(JSON.stringify(series)),
    stored: sha(...stored),
    evaluations: [before?.success, after?.success, after?.reward],
  };
}

const groups = { groupSize: 4, learningRate: 3e-3 };
const algorithms: Record<string, Algorithm> = {
  grpo: grpo(groups),
  "grpo-kl": grpo({ ...groups, kl: 0.1, entropy: 0.01, epochs: 2, miniBatches: 2, uniformGroups: "keep" }),
  mGrpo: mGrpo(groups),
  drGrpo: drGrpo(groups),
  dapo: dapo(groups),
  gspo: gspo({ ...groups, epochs: 2 }),
  cispo: cispo(groups),
  rloo: rloo(groups),
  deepswe: deepswe(groups),
  vspo: vspo(groups),
  gigpo: gigpo(groups),
  ppo: ppo({ groupSize: 2, learningRate: 3e-3, kl: adaptiveKl({ initial: 0.05, target: 0.01, horizon: 50 }) }),
  "ppo-step": ppo({ groupSize: 2, learningRate: 3e-3, level: "step", kl: 0.05 }),
  vapo: vapo({ ...groups, pretrainSteps: 2 }),
  starpo: starpo({ ...groups }),
  "starpo-s": starpoS({ ...groups }),
  reinforcePlusPlus: reinforcePlusPlus({ ...groups, kl: 0.01 }),
  remax: remax(groups),
  rejectionTuning: rejectionTuning(groups),
};

for (const [name, algorithm] of Object.entries(algorithms)) {
  test(`${name} leaves the recorded bits`, async () => check(name, await bitsOf(name, { algorithm })));
}

test("replay", async () => {
  const replays = {
    fifo: () => replayGroups({ buffer: fifoBuffer({ capacity: 6 }), share: 0.5 }),
    priority: () => replayGroups({ buffer: priorityBuffer({ capacity: 6, priorityOf: () => 1 }), share: 0.5 }),
    successes: () => replaySuccesses({ capacity: 8, window: { above: 0, upTo: 1 } }),
  };
  for (const [name, replay] of Object.entries(replays)) {
    check(`replay-${name}`, await bitsOf(`replay-${name}`, { algorithm: grpo(groups), replay }));
  }
});

test("two roles, two sets of weights", async () => {
  const env = letters({ roles: ["first", "second"], alphabet: "ab", choices: "abc" });
  const policy = async (...args: Parameters<ReturnType<typeof tinyPolicy>>): Promise<LearningPolicy> => {
    const made = await tinyPolicy({ valueHead: true })(...args);
    return { ...made, weights: { second: "second" } };
  };
  check("roles", await bitsOf("roles", { env: env as never, policy: policy as never, algorithm: grpo(groups) }));
});

test("context that is rewritten", async () => {
  check("stubs", await bitsOf("stubs", { algorithm: grpo(groups), rollout: { context: observationStubs("s") } }));
});

test("guided retries", async () => {
  const env = letters({ alphabet: "a", choices: "abc" });
  const guide = guidance({ hints: scriptedHints<{ word: string }>({ environment: ({ task }) => task.data.word }) });
  const kinds = {
    context: { condition: "context" },
    importance: { offPolicy: "importance" },
    imitate: { offPolicy: "imitate" },
  } as const;
  for (const [name, options] of Object.entries(kinds)) {
    const algorithm = guided(grpo(groups), options);
    check(`guided-${name}`, await bitsOf(`guided-${name}`, { env: env as never, guide, algorithm, steps: 8 }));
  }
});

test("shipped environments, tokenizer from samples, budgets", async () => {
  const policy = fromScratch({ size: "tiny", threads: 1 });
  const budget = { tokens: 200 };
  const common = { policy, algorithm: grpo({ ...groups, topP: 0.9, epsilonTool: 0.2 }), steps: 3, budget };
  check("lake", await bitsOf("lake", { ...common, env: frozenLake() as never }));
  check("lock", await bitsOf("lock", { ...common, env: lock() as never, earlyStop: { success: 0.01, window: 1 } }));
});

test("learning from what was stored", async () => {
  const reader = await openRun(join(folder, "grpo"), { readOnly: true });
  const env = letters({ alphabet: "ab", choices: "abc" });
  const groupsOf = () => storedGroups(reader);
  const all = { dpo: dpo(), kto: kto(), imitateOffline: imitateOffline(), rejectionTuning: rejectionTuning() };
  for (const [name, algorithm] of Object.entries(all)) {
    const policy = await tinyPolicy({ valueHead: true })(env, 3);
    const { steps, examples } = await trainOffline({ policy, groups: groupsOf(), algorithm, batchSize: 4, epochs: 2 });
    check(`offline-${name}`, { steps, examples, weights: await weightsOf(policy.engine) });
    await policy.engine.close();
  }
  const policy = await tinyPolicy({ valueHead: true })(env, 3);
  const scorer = await trainScorer(policy, storedTrajectories(reader), { batchSize: 4 });
  const first = await reader.trajectories({}, { order: "oldest", limit: 1 });
  const { trajectory } = await reader.trajectory(first.trajectories[0].key);
  check("scorer", { ...scorer.metrics, score: await scorer.score({ trajectories: [trajectory] }) });
  check("encoded", sha(encodeTrajectory(trajectory)));
  await policy.engine.close();
  await reader.close();
});
