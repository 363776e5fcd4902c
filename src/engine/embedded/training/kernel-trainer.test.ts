import { expect, test } from "vitest";
import { createRng } from "../../../random.ts";
import { type ModelConfig, tiny } from "../../model/model-config.ts";
import { compileTwice } from "../kernels/wide-modules.ts";
import { rotationOf } from "../rotation.ts";
import { type Feeds, floats } from "../session.ts";
import { TrainingThread, type WorkBatch, type WorkRow } from "../training-thread.ts";
import { type ParameterSlice, slice, weightLayout } from "../weights.ts";
import { compileTraining, trainingBytes, trainingTrial } from "./compile-training.ts";
import { canTrainInKernels, KernelTrainer } from "./kernel-trainer.ts";

const vocabularySize = 37;
const sizes = { vocabularySize, width: 48, headWidth: 16, layers: 2, contextLength: 1024 };
const models: Record<string, ModelConfig> = {
  llama: tiny({ ...sizes, family: "llama", heads: 2, keyValueHeads: 2, tiedEmbeddings: false }),
  "grouped queries and biases": tiny({ ...sizes, family: "qwen2", heads: 4, keyValueHeads: 2 }),
  "head norms": tiny({ ...sizes, family: "qwen3", heads: 4, keyValueHeads: 1 }),
  "biases everywhere": tiny({
    ...{ ...sizes, family: "llama", heads: 3, keyValueHeads: 3, headWidth: 32 },
    biases: { queryKeyValue: true, output: true, feedForward: true },
  }),
};
const candidates = 3;
const options = { temperature: 0.8, candidates, alternatives: 0 };

function attempts(prompt: number, lengths: readonly number[]): WorkRow[] {
  const rng = createRng(5);
  const token = () => rng.integer(vocabularySize);
  const begins = Array.from({ length: prompt }, token);
  return lengths.map((count) => {
    const tokens = Int32Array.from([...begins, ...Array.from({ length: count }, token)]);
    const wanted = Int32Array.from({ length: count }, (_, i) => prompt + i).filter((_, i) => i % 3 !== 1);
    const numbers = (size = wanted.length) => Float32Array.from({ length: size }, () => rng.normal());
    return {
      tokens,
      wanted,
      candidates: Int32Array.from({ length: candidates * wanted.length }, token),
      derivatives: {
        logprobs: numbers(),
        entropies: numbers(),
        values: numbers(),
        candidates: numbers(candidates * wanted.length),
      },
    };
  });
}

function setUp(config: ModelConfig) {
  const layout = weightLayout(config, true);
  const rng = createRng(8);
  const isNorm = (name: string) => name.endsWith("norm.weight");
  const weights = new Float32Array(layout.size);
  for (const parameter of layout.slices)
    slice(weights, parameter).forEach((_, i) => {
      weights[parameter.offset + i] = (isNorm(parameter.name) ? 1 : 0) + 0.15 * rng.normal();
    });
  return { config, layout, weights, rotation: rotationOf(config) };
}

type Setting = ReturnType<typeof setUp>;

async function inSessions({ config, layout, weights, rotation }: Setting, batches: readonly WorkBatch[]) {
  const feeds: Feeds = Object.fromEntries(
    layout.slices.map((parameter) => [parameter.name, floats(slice(weights, parameter), parameter.shape)]),
  );
  const thread = new TrainingThread({
    config,
    valueHead: true,
    layout,
    rotation,
    intraThreads: 1,
    recompute: "nothing",
  });
  const gradient = new Float32Array(layout.size);
  for (const [index, batch] of batches.entries()) await thread.backward(feeds, batch, options, gradient, index === 0);
  return gradient;
}

function makeTrainer({ config, layout, rotation }: Setting): KernelTrainer {
  return new KernelTrainer({ config, valueHead: true, layout, rotation, compiled: compileTraining(16) });
}

function inKernels(setting: Setting, batches: readonly WorkBatch[], trainer = makeTrainer(setting)): Float32Array {
  const gradient = new Float32Array(setting.layout.size).fill(Number.NaN);
  trainer.backward(setting.weights, batches, options, gradient, true);
  return gradient;
}

/** The largest difference of a parameter's gradient, as a share of its largest number. */
function worst(got: Float32Array, wanted: Float32Array, slices: readonly ParameterSlice[]) {
  return slices
    .map((parameter) => {
      const [a, b] = [slice(got, parameter), slice(wanted, parameter)];
      const size = b.reduce((most, one) => Math.max(most, Math.abs(one)), 0);
      const difference = b.reduce((most, one, i) => Math.max(most, Math.abs(a[i] - one)), 0);
      return { name: parameter.name, difference: a.some(Number.isNaN) ? Number.NaN : difference / size };
    })
    .reduce((most, one) => (one.difference <= most.difference ? most : one));
}

const batches: Record<string, WorkBatch[]> = {
  "rows of all lengths": [{ rows: attempts(3, [130, 61, 17, 1]), sharedPrefix: 0 }],
  "a row longer than a chunk": [{ rows: attempts(1, [300]), sharedPrefix: 0 }],
  "a shared prefix": [{ rows: attempts(40, [50, 7, 1]), sharedPrefix: 39 }],
  "two micro-batches": [
    { rows: attempts(20, [9, 30]), sharedPrefix: 20 },
    { rows: attempts(2, [64, 48, 16]), sharedPrefix: 0 },
  ],
};

for (const [model, config] of Object.entries(models)) {
  for (const [what, work] of Object.entries(batches)) {
    test(`kernels give the gradient of ONNX Runtime: ${model}, ${what}`, async () => {
      const setting = setUp(config);
      const wanted = await inSessions(setting, work);
      expect(worst(inKernels(setting, work), wanted, setting.layout.slices).difference).toBeLessThan(1e-5);
    });
  }
}

test("a gradient is added to what is there, and changed weights are read after forget()", () => {
  const setting = setUp(models["head norms"]);
  const work = batches["a shared prefix"];
  const trainer = makeTrainer(setting);
  const first = inKernels(setting, work, trainer);
  const twice = first.slice();
  trainer.backward(setting.weights, work, options, twice, false);
  expect(twice).toEqual(first.map((one) => one + one));
  for (const [i, weight] of setting.weights.entries()) setting.weights[i] = weight * 0.9;
  trainer.forget();
  expect(inKernels(setting, work, trainer)).toEqual(inKernels(setting, work));
});

test("the kernels give the same bits with and without vectors of eight, and for either width of panels", () => {
  const [wide16, plain16, wide8, plain8] = [16, 8].flatMap((panelWidth) => {
    const tryOut = trainingTrial(panelWidth);
    const { wide, plain } = compileTwice(trainingBytes(panelWidth), 13_000_000, tryOut);
    return [tryOut(wide), tryOut(plain)];
  });
  expect(Buffer.compare(wide16, plain16)).toBe(0);
  expect(Buffer.compare(wide8, plain8)).toBe(0);
  // the order of no sum depends on the width of panels
  expect(Buffer.compare(wide16, wide8)).toBe(0);
  // four compilations, which on a busy machine take most of a minute
}, 120_000);

test("models whose rows are no multiple of sixteen numbers are trained elsewhere", () => {
  expect(canTrainInKernels(models.llama)).toBe(true);
  expect(canTrainInKernels({ ...models.llama, headWidth: 8 })).toBe(false);
});
