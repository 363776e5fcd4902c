import { expect, test } from "vitest";
import { createRng } from "../../random.ts";
import { type ModelConfig, tiny } from "../model/model-config.ts";
import { rotationOf } from "./rotation.ts";
import { type Feeds, floats } from "./session.ts";
import { type RowNumbers, TrainingThread, type WorkBatch, type WorkRow } from "./training-thread.ts";
import { initialiseWeights, sharedFloats, slice, weightLayout } from "./weights.ts";

// A shared prefix that is computed once and packed rows give the numbers and gradients of rows that are computed one by one.

const sizes = { vocabularySize: 24, width: 32, headWidth: 8, layers: 2, contextLength: 512, initializerRange: 0.15 };
const models: Record<string, ModelConfig> = {
  llama: tiny({ ...sizes, family: "llama", heads: 4, keyValueHeads: 4 }),
  "grouped queries and biases": tiny({ ...sizes, family: "qwen2", heads: 4, keyValueHeads: 2 }),
  "a context of no whole number of blocks": tiny({ ...sizes, contextLength: 511, family: "llama", heads: 4 }),
  "head norms": tiny({ ...sizes, family: "qwen3", heads: 4, keyValueHeads: 2 }),
};

/** Attempts of all lengths at one prompt; the first tokens that two of them sampled may be the same too. */
function attempts(prompt: number, longest: number): WorkRow[] {
  const rng = createRng(5);
  const begins = Array.from({ length: prompt }, () => rng.integer(24));
  return [longest, 3, Math.ceil(longest / 2), 1].map((count) => {
    const tokens = Int32Array.from([...begins, ...Array.from({ length: count }, () => rng.integer(24))]);
    const wanted = Int32Array.from({ length: count }, (_, i) => prompt + i).filter((_, i) => i % 3 !== 1);
    const numbers = () => Float32Array.from(wanted, () => rng.normal());
    const derivatives = { logprobs: numbers(), entropies: numbers(), values: numbers() };
    return { tokens, length: tokens.length, wanted, derivatives };
  });
}

async function compute(
  config: ModelConfig,
  batches: readonly WorkBatch[],
  recompute: "nothing" | "attention" | "layers",
) {
  const layout = weightLayout(config, true);
  const weights = sharedFloats(layout.size);
  initialiseWeights(weights, layout, config, 7);
  // the head of values begins with zeros
  const rng = createRng(8);
  for (const [i, weight] of weights.entries()) weights[i] = weight + 0.02 * rng.normal();
  const feeds: Feeds = Object.fromEntries(
    layout.slices.map((parameter) => [parameter.name, floats(slice(weights, parameter).slice(), parameter.shape)]),
  );
  const rotation = rotationOf(config);
  const thread = new TrainingThread({ config, valueHead: true, layout, rotation, intraThreads: 1, recompute });
  const gradient = sharedFloats(layout.size);
  const options = { temperature: 0.8, candidates: 0, alternatives: 0 };
  const numbers: RowNumbers[] = [];
  for (const [index, batch] of batches.entries()) {
    numbers.push(...(await thread.forward(feeds, batch, options)));
    await thread.backward(feeds, batch, options, gradient, index === 0);
  }
  return { numbers, gradient };
}

function expectClose(got: Float32Array, wanted: Float32Array, tolerance: number): void {
  const size = Math.max(...wanted.map(Math.abs));
  expect(Math.max(...got.map((value, i) => Math.abs(value - wanted[i]))) / size).toBeLessThan(tolerance);
}

const lengths = [
  { prompt: 9, longest: 20 },
  { prompt: 30, longest: 130 }, // attention in two blocks
  { prompt: 30, longest: 481 }, // the whole context, where padding would not fit
];
test.each(
  Object.keys(models).flatMap((name) =>
    (["nothing", "attention", "layers"] as const).flatMap((recompute) =>
      lengths.map((length) => ({ name, recompute, ...length })),
    ),
  ),
)("$name, prompt of $prompt, recompute $recompute", async ({ name, recompute, prompt, longest }) => {
  const rows = attempts(prompt, longest);
  const alone = await compute(
    models[name],
    rows.map((row) => ({ rows: [row], sharedPrefix: 0 })),
    recompute,
  );
  // the last row's only token is predicted by the last one of the prompt, so that is not part of the shared prefix
  const ways: WorkBatch[][] = [
    [{ rows, sharedPrefix: prompt - 1 }],
    [{ rows, sharedPrefix: 0 }],
    [
      { rows: rows.slice(0, 1), sharedPrefix: prompt - 1 },
      { rows: rows.slice(1), sharedPrefix: 0 },
    ],
  ];
  for (const batches of ways) {
    const together = await compute(models[name], batches, recompute);
    for (const [b, row] of alone.numbers.entries()) {
      for (const key of ["logprobs", "entropies", "values"] as const)
        expectClose(together.numbers[b][key]!, row[key]!, 1e-4);
    }
    expectClose(together.gradient, alone.gradient, 1e-4);
  }
});
