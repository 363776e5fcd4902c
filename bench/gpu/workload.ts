import type { Engine, TokenRow } from "../../src/engine/engine.ts";
import { createRng } from "../../src/random.ts";
import { median } from "../statistics.ts";

/** What is measured; as for the baselines. */
export interface Sizes {
  readonly sequences: number;
  readonly prompt: number;
  readonly fresh: number;
  readonly rows: number;
  readonly length: number;
  readonly rounds: number;
  readonly warmup: number;
}

/** Median seconds of the rounds after warm-up. What a round works on is made before its time begins. */
export async function medianSeconds<Input>(
  { rounds, warmup }: Sizes,
  prepare: (round: number) => Input,
  work: (input: Input, round: number) => Promise<unknown>,
): Promise<number> {
  const seconds: number[] = [];
  for (let round = 0; round < warmup + rounds; round++) {
    const input = prepare(round);
    const start = performance.now();
    await work(input, round);
    if (round >= warmup) seconds.push((performance.now() - start) / 1000);
  }
  return median(seconds);
}

/** Prompts of random tokens, other ones every round; `groupSize` in a row are the same. */
export function promptsOf(engine: Engine, { sequences, prompt }: Sizes, round: number, groupSize = 1): Int32Array[] {
  const rng = createRng(round);
  const draw = () => Int32Array.from({ length: prompt }, () => 10 + rng.integer(engine.info.vocabularySize - 20));
  const prompts = Array.from({ length: Math.ceil(sequences / groupSize) }, draw);
  return Array.from({ length: sequences }, (_, i) => prompts[Math.floor(i / groupSize)]!);
}

export async function sampleRound(engine: Engine, { fresh }: Sizes, prompts: readonly Int32Array[], round: number) {
  const samples = await Promise.all(
    prompts.map((tokens, i) => engine.sample({ tokens, maxTokens: fresh, seed: 1000 * round + i })),
  );
  return samples.map((sample, i) => ({ prompt: prompts[i]!, sample }));
}

export interface Batch {
  readonly rows: readonly TokenRow[];
  /** They count as known, as after sampling. */
  readonly known_B_T: readonly Float32Array[];
  readonly derivatives_B_T: readonly Float32Array[];
}

export function randomBatch(engine: Engine, { rows, length }: Sizes, round: number): Batch {
  const rng = createRng(round);
  const draw = () => Int32Array.from({ length }, () => rng.integer(engine.info.vocabularySize));
  const indices = Array.from({ length: rows }, (_, i) => i);
  return {
    rows: indices.map(() => ({ tokens: draw() })),
    known_B_T: indices.map(() => new Float32Array(length)),
    derivatives_B_T: indices.map(() => new Float32Array(length).fill(-1 / (rows * length), 1)),
  };
}

/** Groups of eight from shared prompts, one update: seconds of sampling and of the update. */
export async function grpoRound(engine: Engine, sizes: Sizes, prompts: readonly Int32Array[], round: number) {
  const start = performance.now();
  const said = await sampleRound(engine, sizes, prompts, round);
  const middle = performance.now();
  const total = said.reduce((sum, { sample }) => sum + sample.tokens.length, 0);
  const rng = createRng(round);
  const parts = said.map(({ prompt, sample }) => {
    const T = prompt.length + sample.tokens.length;
    const after = (values: ArrayLike<number>) => {
      const row = new Float32Array(T);
      row.set(values, prompt.length);
      return row;
    };
    const tokens = new Int32Array(T);
    tokens.set(prompt);
    tokens.set(sample.tokens, prompt.length);
    const advantage = rng.next() - 0.5;
    return {
      row: { tokens, mask: new Uint8Array(T).fill(1, prompt.length) },
      known: after(sample.logprobs),
      derivatives: after(new Float32Array(sample.tokens.length).fill(-advantage / total)),
    };
  });
  await update(engine, {
    rows: parts.map(({ row }) => row),
    known_B_T: parts.map(({ known }) => known),
    derivatives_B_T: parts.map(({ derivatives }) => derivatives),
  });
  return { sample: (middle - start) / 1000, update: (performance.now() - middle) / 1000 };
}

export async function update(engine: Engine, { rows, known_B_T, derivatives_B_T }: Batch): Promise<void> {
  const sampled = { logprobs_B_T: known_B_T, policyVersion: engine.info.policyVersion };
  const forward = await engine.forward({ rows }, { sampled });
  await engine.backward(forward, { logprobs_B_T: derivatives_B_T });
  await engine.step({ learningRate: 1e-6, maxGradientNorm: 1 });
}

/** Sampled log-probabilities against those of the forward pass, on eight continuations: largest and mean difference. */
export async function mismatch(engine: Engine, sizes: Sizes): Promise<{ max: number; mean: number }> {
  const said = await sampleRound(engine, sizes, promptsOf(engine, { ...sizes, sequences: 8 }, 99), 99);
  const rows = said.map(({ prompt, sample }) => ({ tokens: Int32Array.of(...prompt, ...sample.tokens) }));
  const forward = await engine.forward({ rows });
  const differences = said.flatMap(({ prompt, sample }, b) =>
    Array.from(sample.logprobs, (value, i) => Math.abs(value - forward.logprobs_B_T[b]![prompt.length + i]!)),
  );
  return {
    max: Math.max(...differences),
    mean: differences.reduce((sum, value) => sum + value, 0) / differences.length,
  };
}
