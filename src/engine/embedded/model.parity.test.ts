import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { defined } from "../../defined.ts";
import { byteTokenizer } from "../../policy/byte-tokenizer.ts";
import { createRng } from "../../random.ts";
import type { Derivatives, Engine, TokenBatch } from "../engine.ts";
import { readModelFolder } from "../model/model-folder.ts";
import { openCheckpoint, readSafetensors, type TensorSource } from "../model/safetensors.ts";
import { embedded } from "./embedded.ts";
import { compileKernels } from "./kernels/compile-kernels.ts";
import { rotationOf } from "./rotation.ts";
import { type Feeds, floats } from "./session.ts";
import { compileTraining } from "./training/compile-training.ts";
import { canTrainInKernels, KernelTrainer } from "./training/kernel-trainer.ts";
import { TrainingThread } from "./training-thread.ts";
import { readWeights, sharedFloats, slice, type WeightLayout, weightLayout } from "./weights.ts";
import { backwardRow } from "./work-rows.ts";

const tokenizer = byteTokenizer();
const rng = createRng(11);
const among = <Value>(values: readonly Value[]): Value => values[rng.integer(values.length)]!;

const context = { contextLength: 480, original: 32 };
const rowLengths = [2, 7, 33, 12, 32, 60, 170, 401];

interface Case {
  config: Record<string, unknown>;
  dtype: "float32" | "bfloat16";
  sharded: boolean;
  rows: { tokens: number[]; logprobDerivatives: number[]; entropyDerivatives: number[] }[];
  temperature: number;
  optimizer: { learningRate: number; weightDecay: number; beta1: number; beta2: number; epsilon: number };
  /** One step of the optimizer for each. */
  gradientLimits: number[];
  prompts: number[][];
  newTokens: number;
}

const original = { original_max_position_embeddings: context.original };
const ropesOf = (headWidth: number) => {
  const factors = (step: number) => Array.from({ length: headWidth / 2 }, (_, i) => 1 + step * (i + 1));
  return {
    default: { rope_type: "default" },
    linear: { rope_type: "linear", factor: 2.5 },
    dynamic: { rope_type: "dynamic", factor: 2 },
    llama3: { rope_type: "llama3", factor: 8, low_freq_factor: 1, high_freq_factor: 4, ...original },
    yarn: { rope_type: "yarn", factor: 3, ...original },
    longrope: {
      rope_type: "longrope",
      factor: 3,
      short_factor: factors(0.1),
      long_factor: factors(0.6),
      original_max_position_embeddings: context.contextLength,
    },
  };
};

const randomTokens = (length: number) => Array.from({ length }, () => rng.integer(tokenizer.vocabularySize));
const randomNumbers = (length: number) => Array.from({ length }, () => rng.normal() / 4);

interface Shape {
  family: "llama" | "qwen2" | "qwen3";
  rope: keyof ReturnType<typeof ropesOf>;
  /** Query heads of each key/value head. */
  group: number;
  tied: boolean;
  biases?: boolean;
  dtype?: Case["dtype"];
  sharded?: boolean;
  /** Sizes that kernels train; others are trained in sessions. */
  strides?: boolean;
}

function makeCase(shape: Shape): Case {
  const { family, rope, group, tied, biases = false, dtype = "float32", sharded = false, strides = false } = shape;
  const heads = group * among(group === 1 ? [2, 4] : [1, 2]);
  const headWidth = strides ? 16 : 8;
  return {
    dtype,
    sharded,
    config: {
      model_type: family,
      vocab_size: tokenizer.vocabularySize,
      hidden_size: heads * among(family === "llama" || strides ? [headWidth] : [headWidth, 6]),
      intermediate_size: among(strides ? [48, 80] : [24, 40]),
      num_hidden_layers: among([1, 2, 3]),
      num_attention_heads: heads,
      num_key_value_heads: heads / group,
      head_dim: headWidth,
      max_position_embeddings: context.contextLength,
      tie_word_embeddings: tied,
      rms_norm_eps: among([1e-6, 1e-3]),
      rope_parameters: { ...ropesOf(headWidth)[rope], rope_theta: among([100, 10000]) },
      bos_token_id: null,
      eos_token_id: null,
      pad_token_id: null,
      ...defined({
        attention_bias: family === "qwen2" ? undefined : biases,
        mlp_bias: family === "llama" ? biases : undefined,
      }),
    },
    rows: rowLengths.map((length) => ({
      tokens: randomTokens(length),
      logprobDerivatives: randomNumbers(length),
      entropyDerivatives: randomNumbers(length),
    })),
    temperature: 0.6 + rng.next(),
    optimizer: { learningRate: 2e-3, weightDecay: 0.1, beta1: 0.8, beta2: 0.95, epsilon: 1e-8 },
    gradientLimits: [0.5, 1e6],
    prompts: [3, 11, 40].map(randomTokens),
    newTokens: 20,
  };
}

const shapes: readonly Shape[] = [
  { family: "llama", rope: "default", group: 1, tied: false, biases: true },
  { family: "qwen2", rope: "default", group: 3, tied: true, sharded: true },
  { family: "qwen3", rope: "default", group: 2, tied: false, dtype: "bfloat16" },
  { family: "llama", rope: "llama3", group: 2, tied: true },
  { family: "qwen2", rope: "yarn", group: 1, tied: false },
  { family: "qwen3", rope: "linear", group: 3, tied: true, biases: true },
  { family: "llama", rope: "dynamic", group: 3, tied: true, biases: true },
  { family: "qwen2", rope: "longrope", group: 2, tied: true, dtype: "bfloat16", sharded: true },
  { family: "qwen3", rope: "longrope", group: 1, tied: false },
  { family: "llama", rope: "yarn", group: 2, tied: false, biases: true, strides: true },
  { family: "qwen2", rope: "default", group: 3, tied: true, strides: true },
  { family: "qwen3", rope: "llama3", group: 1, tied: false, strides: true },
];
const cases = shapes.map(makeCase);
const names = shapes.map((shape, index) => [index, JSON.stringify(shape)] as const);
const texts = ["", "Hi", "naïve — 東京 <|im_end|>", " a  b\n"];

function batchOf({ rows }: Case): TokenBatch {
  return { rows: rows.map(({ tokens }) => ({ tokens })) };
}

function derivativesOf({ rows }: Case): Derivatives {
  return {
    logprobs_B_T: rows.map((row) => Float32Array.from(row.logprobDerivatives)),
    entropies_B_T: rows.map((row) => Float32Array.from(row.entropyDerivatives)),
  };
}

const largest = (numbers: Float32Array) => numbers.reduce((most, number) => Math.max(most, Math.abs(number)), 0);
const norm = (numbers: Float32Array) => Math.sqrt(numbers.reduce((sum, number) => sum + number * number, 0));
const minus = (a: Float32Array, b: Float32Array) => {
  expect(a.length).toBe(b.length);
  return a.map((number, i) => number - b[i]);
};

describe.runIf(process.env.LUDUS_PYTHON)("models against transformers", () => {
  let folder: string;
  const engines: Engine[] = [];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "ludus-model-"));
    writeFileSync(join(folder, "request.json"), JSON.stringify({ cases, texts }));
    runPython("make");
    for (const index of cases.keys()) {
      engines.push(await embedded({ folder: at(`${index}`), tokenizer, threads: 2, microBatchTokens: 64 }));
    }
  });
  afterAll(async () => {
    await Promise.all(engines.map((engine) => engine.close()));
    rmSync(folder, { recursive: true });
  });

  const at = (name: string) => join(folder, name);

  function runPython(mode: "make" | "check"): void {
    const script = join(import.meta.dirname, "../../../test/parity/model.py");
    const run = spawnSync(process.env.LUDUS_PYTHON!, [script, mode, folder], { encoding: "utf8" });
    if (run.status !== 0) throw new Error(`model.py ${mode} ended with ${run.status}:\n${run.stderr}`);
  }

  function withFile<Result>(name: string, read: (source: TensorSource) => Result): Result {
    const source = readSafetensors(at(name));
    try {
      return read(source);
    } finally {
      source.close();
    }
  }

  /** What Python says, by name. */
  const answer = (index: number) => (name: string) =>
    withFile(`${index}.safetensors`, (source) => Float32Array.from(source.tensor(name)));

  test.each(names)("%i: log-probabilities and entropies of %s", async (index) => {
    const { temperature, rows } = cases[index];
    const forward = await engines[index].forward(batchOf(cases[index]), { temperature });
    for (const b of rows.keys()) {
      const logprobs = forward.logprobs_B_T[b].subarray(1);
      const entropies = forward.entropies_B_T[b].subarray(1);
      expect(largest(minus(logprobs, answer(index)(`0.logprobs.${b}`)))).toBeLessThan(1e-4);
      expect(largest(minus(entropies, answer(index)(`0.entropies.${b}`)))).toBeLessThan(1e-4);
    }
  });

  test.each(names)("%i: gradients of %s", async (index) => {
    const isForKernels = shapes[index].strides === true;
    for (const way of ["nothing", "attention", "layers", ...(isForKernels ? ["kernels" as const] : [])] as const) {
      const { gradient, layout } = await gradientOf(at(`${index}`), cases[index], way);
      for (const parameter of layout.slices) {
        const expected = answer(index)(`0.gradient.${parameter.name}`);
        const difference = norm(minus(slice(gradient, parameter), expected)) / norm(expected);
        expect(difference, `${parameter.name}, ${way}`).toBeLessThan(1e-3);
      }
    }
  });

  test.each(names)("%i: greedy continuations of %s", async (index) => {
    const { prompts, newTokens } = cases[index];
    for (const [p, tokens] of prompts.entries()) {
      const sample = await engines[index].sample({ tokens, maxTokens: newTokens, seed: 1, temperature: 0 });
      // where two tokens are level, rounding decides
      const lead = answer(index)(`lead.${p}`);
      const level = [...lead, 0].findIndex((ahead) => ahead < 1e-4);
      expect([...sample.tokens].slice(0, level)).toEqual([...answer(index)(`greedy.${p}`)].slice(0, level));
      expect(sample.tokens.length).toBe(newTokens);
    }
  });

  test.each(names)("%i: two AdamW steps of %s", async (index) => {
    const { temperature, optimizer, gradientLimits } = cases[index];
    const engine = engines[index];
    for (const [step, maxGradientNorm] of gradientLimits.entries()) {
      const forward = await engine.forward(batchOf(cases[index]), { temperature });
      await engine.backward(forward, derivativesOf(cases[index]));
      const report = await engine.step({ ...optimizer, maxGradientNorm });
      const gradientNorm = answer(index)(`${step}.norm`)[0];
      expect(report.gradientNorm! / gradientNorm).toBeCloseTo(1, 3);
      expect(report).toMatchObject({ applied: true, clipped: gradientNorm > maxGradientNorm });
      await engine.save(at(`${index}-ludus`));
      withFile(`${index}-ludus/model.safetensors`, (weights) => {
        for (const name of weights.tensors.keys()) {
          const difference = minus(weights.tensor(name), answer(index)(`${step}.weights.${name}`));
          // the first steps of Adam are the sign of the gradient: where it is next to nothing, that is chance
          const gradient = answer(index)(`0.gradient.${name}`);
          const [smallest, other] = [1e-3 * largest(gradient), answer(index)(`${step}.gradient.${name}`)];
          const isClear = (i: number) => Math.abs(gradient[i]) > smallest && Math.abs(other[i]) > smallest;
          expect(largest(difference.filter((_, i) => isClear(i))), `${name}, step ${step}`).toBeLessThan(1e-5);
        }
      });
    }
    expect(engine.info.policyVersion).toBe(gradientLimits.length);
  });

  describe("folders that Ludus saves", () => {
    beforeAll(() => runPython("check"));

    test.each(names)("%i: load in Python as the same model, and back: %s", async (index) => {
      const { temperature, rows } = cases[index];
      const forward = await engines[index].forward(batchOf(cases[index]), { temperature });
      withFile(`${index}-check.safetensors`, (source) => {
        for (const b of rows.keys()) {
          const difference = minus(forward.logprobs_B_T[b].subarray(1), source.tensor(`logprobs.${b}`));
          expect(largest(difference)).toBeLessThan(1e-4);
        }
      });
      const [saved, again] = [openCheckpoint(at(`${index}-ludus`)), openCheckpoint(at(`${index}-again`))];
      for (const name of saved.tensors.keys()) expect(again.tensor(name), name).toEqual(saved.tensor(name));
      for (const source of [saved, again]) source.close();
      const { config } = readModelFolder(at(`${index}-again`));
      expect(config).toEqual(readModelFolder(at(`${index}`)).config);
    });

    test("have the same tokenizer", () => {
      const theirs: number[][][] = JSON.parse(readFileSync(at("texts.json"), "utf8"));
      const ours = texts.map((text) => [...tokenizer.encode(text, { special: true })]);
      for (const encoded of theirs) expect(encoded).toEqual(ours);
    });
  });
});

/** The gradient of a case in this thread, as no engine gives it out. */
async function gradientOf(
  folder: string,
  { rows, temperature, ...rest }: Case,
  way: "nothing" | "attention" | "layers" | "kernels",
): Promise<{ gradient: Float32Array<SharedArrayBuffer>; layout: WeightLayout }> {
  const model = readModelFolder(folder);
  const { config } = model;
  const layout = weightLayout(config, false);
  const { weights } = model.readSets(config, (tensors) => readWeights(tensors, layout))[0];
  const feeds: Feeds = Object.fromEntries(
    layout.slices.map((parameter) => [parameter.name, floats(slice(weights, parameter), parameter.shape)]),
  );
  const rotation = rotationOf(config);
  const derivatives = derivativesOf({ rows, temperature, ...rest });
  const work = rows.map((row, b) => backwardRow(row, b, derivatives)!);
  const gradient = sharedFloats(layout.size);
  const options = { temperature, candidates: 0, alternatives: 0 };
  const batch = { rows: work, sharedPrefix: 0 };
  if (way === "kernels") {
    expect(canTrainInKernels(config)).toBe(true);
    const compiled = compileTraining(compileKernels(config).panelWidth);
    const trainer = new KernelTrainer({ config, valueHead: false, layout, rotation, compiled });
    trainer.backward(weights, [batch], options, gradient, true);
  } else {
    const thread = new TrainingThread({ config, valueHead: false, layout, rotation, intraThreads: 1, recompute: way });
    await thread.backward(feeds, batch, options, gradient, true);
  }
  return { gradient, layout };
}
