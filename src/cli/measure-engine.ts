import type { Engine, TokenRow } from "../engine/engine.ts";
import { createRng } from "../random.ts";

/** How much is sampled and trained on in a round. */
export interface BenchSizes {
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
  { rounds, warmup }: BenchSizes,
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
  return seconds.sort((a, b) => a - b)[Math.floor(seconds.length / 2)];
}

/** Prompts of random tokens, other ones every round; `groupSize` in a row are the same. */
export function randomPrompts(
  engine: Engine,
  { sequences, prompt }: BenchSizes,
  round: number,
  groupSize = 1,
): Int32Array[] {
  const rng = createRng(round);
  const draw = () => Int32Array.from({ length: prompt }, () => rng.integer(engine.info.vocabularySize));
  const prompts = Array.from({ length: Math.ceil(sequences / groupSize) }, draw);
  return Array.from({ length: sequences }, (_, i) => prompts[Math.floor(i / groupSize)]);
}

export async function sampleAll(engine: Engine, { fresh }: BenchSizes, prompts: readonly Int32Array[], round: number) {
  const samples = await Promise.all(
    prompts.map((tokens, i) => engine.sample({ tokens, maxTokens: fresh, seed: 1000 * round + i })),
  );
  return samples.map((sample, i) => ({ prompt: prompts[i], sample }));
}

export interface BenchBatch {
  readonly rows: readonly TokenRow[];
  /** They count as known, as after sampling. */
  readonly known_B_T: readonly Float32Array[];
  readonly derivatives_B_T: readonly Float32Array[];
}

export function randomBatch(engine: Engine, { rows, length }: BenchSizes, round: number): BenchBatch {
  const rng = createRng(round);
  const draw = () => Int32Array.from({ length }, () => rng.integer(engine.info.vocabularySize));
  const indices = Array.from({ length: rows }, (_, i) => i);
  return {
    rows: indices.map(() => ({ tokens: draw() })),
    known_B_T: indices.map(() => new Float32Array(length)),
    derivatives_B_T: indices.map(() => new Float32Array(length).fill(-1 / (rows * length), 1)),
  };
}

/** Forward, backward and a step of the optimizer. */
export async function updateOnce(engine: Engine, { rows, known_B_T, derivatives_B_T }: BenchBatch): Promise<void> {
  const sampled = { logprobs_B_T: known_B_T, policyVersion: engine.info.policyVersion };
  const forward = await engine.forward({ rows }, { sampled });
  await engine.backward(forward, { logprobs_B_T: derivatives_B_T });
  await engine.step({ learningRate: 1e-6, maxGradientNorm: 1 });
}

/** Tokens per second of sampling and of updates. */
export async function measureEngine(engine: Engine, sizes: BenchSizes) {
  const prompts = (round: number) => randomPrompts(engine, sizes, round);
  const sampling = await medianSeconds(sizes, prompts, (made, round) => sampleAll(engine, sizes, made, round));
  const batch = (round: number) => randomBatch(engine, sizes, round);
  const training = await medianSeconds(sizes, batch, (made) => updateOnce(engine, made));
  return {
    sampleTokensPerSecond: (sizes.sequences * sizes.fresh) / sampling,
    trainTokensPerSecond: (sizes.rows * sizes.length) / training,
  };
}
