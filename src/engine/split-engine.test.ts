import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { LudusError } from "../errors.ts";
import { delegate } from "./delegate.ts";
import { embedded } from "./embedded/embedded.ts";
import { embeddedSampler } from "./embedded/embedded-sampler.ts";
import { engineContract } from "./engine.contract.ts";
import type { Engine, SampleRequest } from "./engine.ts";
import { fakeEngine } from "./fake-engine.ts";
import { tiny } from "./model/model-config.ts";
import type { PublishedWeights, Sampler } from "./sampler.ts";
import { type SamplerNews, splitEngine } from "./split-engine.ts";

const model = tiny({
  vocabularySize: 24,
  width: 32,
  headWidth: 8,
  keyValueHeads: 2,
  layers: 2,
  contextLength: 64,
  initializerRange: 0.15,
});

engineContract("a trainer and samplers in other processes", {
  make: async () =>
    splitEngine({
      trainer: await embedded({ model, valueHead: true, seed: 3, threads: 1 }),
      samplers: [embeddedSampler({ threads: 1 }), embeddedSampler({ threads: 1 })],
    }),
  learns: true,
});

/** A sampler that answers with its own number, until it is down. */
function numbered(number: number, isDown: () => boolean = () => false) {
  const requests: SampleRequest[] = [];
  const used: PublishedWeights[] = [];
  const check = () => {
    if (isDown()) throw new LudusError("sampler-unreachable", { got: "nobody", expected: "a server" });
  };
  const sampler: Sampler = {
    name: `numbered-${number}`,
    takes: "model",
    async use(weights) {
      check();
      used.push(weights);
    },
    async sample(request) {
      requests.push(request);
      check();
      const versions = Int32Array.of(used.at(-1)!.version);
      return { tokens: Int32Array.of(number), logprobs: Float32Array.of(0), versions, stop: "max-tokens" };
    },
  };
  return { sampler, requests, used };
}

const trainer = () => fakeEngine({ vocabularySize: 8, distribution: [1, 0, 0, 0, 0, 0, 0, 0] });
const ask = (tokens: number[], rollout?: string): SampleRequest => ({
  tokens,
  maxTokens: 1,
  seed: 1,
  ...(rollout === undefined ? {} : { rollout }),
});

async function step(engine: Engine): Promise<void> {
  const forward = await engine.forward({ rows: [{ tokens: [0, 0] }] });
  await engine.backward(forward, { logprobs_B_T: [Float32Array.of(0, 1)] });
  await engine.step({ learningRate: 1e-3 });
}

describe("samplers", () => {
  test("get the weights before the first sample and after every step", async () => {
    const { sampler, used } = numbered(5);
    const engine = splitEngine({ trainer: trainer(), samplers: [sampler] });
    expect((await engine.sample(ask([1]))).tokens).toEqual(Int32Array.of(5));
    await step(engine);
    expect([...(await engine.sample(ask([1]))).versions]).toEqual([1]);
    expect(used.map(({ version }) => version)).toEqual([0, 1]);
    await engine.close();
  });

  test("get the kind of weights that they take, each kind saved once for all who take it", async () => {
    const saved: (string | undefined)[] = [];
    const own = trainer();
    const engine = splitEngine({
      trainer: delegate(own, { save: async (_directory, options) => void saved.push(options?.only) }),
      samplers: (["model", "shared", "adapter", "shared"] as const).map((takes, i) => ({
        ...numbered(i).sampler,
        takes,
      })),
    });
    await engine.sample(ask([1]));
    expect(saved).toEqual(["weights", "shared", "adapter"]);
    await engine.close();
  });

  test("that are down are left out, and their requests go to others", async () => {
    let isDown = false;
    const news: SamplerNews[] = [];
    const [first, second] = [numbered(1, () => isDown), numbered(2)];
    const engine = splitEngine({
      trainer: trainer(),
      samplers: [first.sampler, second.sampler],
      onSampler: (each) => void news.push(each),
    });
    expect((await engine.sample(ask([1, 2], "a"))).tokens[0]).toBe(1);
    isDown = true;
    expect((await engine.sample(ask([1, 2, 3], "a"))).tokens[0]).toBe(2);
    expect((await engine.sample(ask([1, 2, 3, 4], "a"))).tokens[0]).toBe(2);
    expect(first.requests).toHaveLength(2);
    expect(news.map(({ index, state }) => [index, state])).toEqual([
      [0, "up"],
      [1, "up"],
      [0, "down"],
    ]);
    await engine.close();
  });

  test("that come back are brought up to date", async () => {
    let isDown = false;
    const { sampler, used } = numbered(1, () => isDown);
    const engine = splitEngine({ trainer: trainer(), samplers: [sampler] });
    await engine.sample(ask([1]));
    isDown = true;
    await step(engine);
    // nobody else is left: the trainer samples
    expect(await engine.sample(ask([1]))).toMatchObject({ tokens: Int32Array.of(0), versions: Int32Array.of(1) });
    isDown = false;
    await step(engine);
    expect(await engine.sample(ask([1]))).toMatchObject({ tokens: Int32Array.of(1), versions: Int32Array.of(2) });
    expect(used.map(({ version }) => version)).toEqual([0, 2]);
    await engine.close();
  });

  test("have turns of one rollout and prompts that begin alike together", async () => {
    const [first, second] = [numbered(1), numbered(2)];
    const engine = splitEngine({ trainer: trainer(), samplers: [first.sampler, second.sampler] });
    const alike = Promise.all([0, 1, 2].map((i) => engine.sample(ask([1, 1, 1, i], `a${i}`))));
    const other = Promise.all([0, 1, 2].map((i) => engine.sample(ask([2, 2, 2, i], `b${i}`))));
    const chosen = [...(await alike), ...(await other)].map(({ tokens }) => tokens[0]);
    expect(new Set(chosen.slice(0, 3)).size).toBe(1);
    expect(new Set(chosen.slice(3)).size).toBe(1);
    expect(chosen[0]).not.toBe(chosen[3]);
    await engine.close();
  });

  test("are not asked for snapshots, which the trainer has", async () => {
    const { sampler, requests } = numbered(3);
    const engine = splitEngine({ trainer: trainer(), samplers: [sampler] });
    await engine.snapshot("reference");
    await engine.sample({ ...ask([1]), weights: "reference" });
    expect(requests).toEqual([]);
    await engine.close();
  });

  test("pass on what is wrong with a request", async () => {
    const sampler: Sampler = {
      ...numbered(1).sampler,
      sample: () => Promise.reject(new LudusError("bad-option", { got: "topP", expected: "none" })),
    };
    const engine = splitEngine({ trainer: trainer(), samplers: [sampler] });
    await expect(engine.sample(ask([1]))).rejects.toThrow("bad-option");
    await engine.close();
  });
});

test("weights are removed once all samplers have newer ones, and at the end", async () => {
  const folder = mkdtempSync(join(tmpdir(), "ludus-split-"));
  try {
    const made = await embedded({ model, threads: 1 });
    const engine = splitEngine({ trainer: made, samplers: [numbered(1).sampler], directory: folder });
    await engine.sample(ask([1]));
    for (let i = 0; i < 3; i++) await step(engine);
    const [own] = readdirSync(folder);
    expect(readdirSync(join(folder, own))).toEqual(["model-3"]);
    expect(readdirSync(join(folder, own, "model-3", "training"))).toEqual(["ludus.json"]);
    await engine.close();
    expect(readdirSync(folder)).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a disk without room for weights is the step's error", async () => {
  const full = delegate(trainer(), { save: () => Promise.reject(new Error("ENOSPC")) });
  const engine = splitEngine({ trainer: full, samplers: [numbered(1).sampler] });
  await expect(engine.sample(ask([1]))).rejects.toThrow("ENOSPC");
  await engine.close();
});

test("options are checked", () => {
  expect(() => splitEngine({ trainer: trainer(), samplers: [] })).toThrow(/no samplers/);
  expect(() => splitEngine({ trainer: trainer(), sampler: [] } as never)).toThrow(/did you mean "samplers"/);
  expect(() => embeddedSampler({ thread: 1 } as never)).toThrow(/did you mean "threads"/);
});

test("a process that is killed while it samples is replaced, and the sample is the same", async () => {
  const pids: number[] = [];
  const news: SamplerNews[] = [];
  const made = await embedded({ model, threads: 1, seed: 3 });
  const samplers = [embeddedSampler({ threads: 1, onStart: (pid) => void pids.push(pid) })];
  const engine = splitEngine({ trainer: made, samplers, onSampler: (each) => void news.push(each) });
  try {
    const request = { tokens: [1, 2, 3], maxTokens: 40, seed: 7 };
    const alone = await made.sample(request);
    expect(await engine.sample(request)).toEqual(alone);
    const many = Array.from({ length: 20 }, () => engine.sample(request));
    process.kill(pids[0], "SIGKILL");
    for (const sample of await Promise.all(many)) expect(sample).toEqual(alone);
    expect(news.map(({ state }) => state)).toEqual(["up", "down"]);
    await step(engine);
    expect(pids).toHaveLength(2);
    expect((await engine.sample(request)).versions[0]).toBe(1);
    expect(news.at(-1)).toMatchObject({ state: "up" });
  } finally {
    await engine.close();
  }
  // processes are gone with the engine
  for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow("ESRCH");
});
