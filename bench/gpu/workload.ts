import { type BenchSizes, randomPrompts, sampleAll, updateOnce } from "../../src/cli/measure-engine.ts";
import type { Engine } from "../../src/engine/engine.ts";
import { createRng } from "../../src/random.ts";

/** Groups of eight from shared prompts, one update: seconds of sampling and of the update. */
export async function grpoRound(engine: Engine, sizes: BenchSizes, prompts: readonly Int32Array[], round: number) {
  const start = performance.now();
  const said = await sampleAll(engine, sizes, prompts, round);
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
  await updateOnce(engine, {
    rows: parts.map(({ row }) => row),
    known_B_T: parts.map(({ known }) => known),
    derivatives_B_T: parts.map(({ derivatives }) => derivatives),
  });
  return { sample: (middle - start) / 1000, update: (performance.now() - middle) / 1000 };
}

/** Sampled log-probabilities against those of the forward pass, on eight continuations: largest and mean difference. */
export async function mismatch(engine: Engine, sizes: BenchSizes): Promise<{ max: number; mean: number }> {
  const said = await sampleAll(engine, sizes, randomPrompts(engine, { ...sizes, sequences: 8 }, 99), 99);
  const rows = said.map(({ prompt, sample }) => ({ tokens: Int32Array.of(...prompt, ...sample.tokens) }));
  const forward = await engine.forward({ rows });
  const differences = said.flatMap(({ prompt, sample }, b) =>
    Array.from(sample.logprobs, (value, i) => Math.abs(value - forward.logprobs_B_T[b][prompt.length + i])),
  );
  return {
    max: Math.max(...differences),
    mean: differences.reduce((sum, value) => sum + value, 0) / differences.length,
  };
}
