import { join } from "node:path";
import { expect } from "vitest";
import { createRng } from "../../random.ts";
import type { Derivatives, Engine, ForwardOptions, Sample, TokenBatch } from "../engine.ts";
import type { EngineLack } from "../engine-lack.ts";
import { checkpointDifference } from "./checkpoint-arithmetic.ts";

/** AdamW without memory and with a huge epsilon is plain descent: with this learning rate, weights minus gradient. */
export const plainGradient = { learningRate: 1e9, beta1: 0, beta2: 0, epsilon: 1e9 };

type Gradient = ReadonlyMap<string, Float64Array>;

export type Precision = "float32" | "bfloat16";

interface ContextOptions {
  make(): Promise<Engine>;
  makeExact?(): Promise<Engine>;
  rounding?: "fixed" | "by-batch";
  precision?: Precision;
}

/** What the parts of the suite share: an engine that is left as it was found, and a folder. */
export class ContractContext {
  readonly make: () => Promise<Engine>;
  readonly folder: string;
  readonly rounding: "fixed" | "by-batch";
  readonly precision: Precision;
  readonly #makeExact: (() => Promise<Engine>) | undefined;
  #engine: Engine | undefined;
  #exact: Engine | undefined;

  constructor(folder: string, { make, makeExact, rounding = "fixed", precision = "float32" }: ContextOptions) {
    this.make = make;
    this.folder = folder;
    this.rounding = rounding;
    this.precision = precision;
    this.#makeExact = makeExact;
  }

  async open(): Promise<void> {
    this.#engine = await this.make();
  }

  get engine(): Engine {
    return this.#engine!;
  }

  /** An engine with the same weights in float32, where the suite was given one. */
  async exact(): Promise<Engine | undefined> {
    this.#exact ??= await this.#makeExact?.();
    return this.#exact;
  }

  async close(): Promise<void> {
    await this.#engine?.close();
    await this.#exact?.close();
  }

  /** The same up to rounding. A temperature below 1 multiplies the rounding of logits, which only shows in bfloat16. */
  expectNear(value: number, expected: number, temperature = 1): void {
    const tolerance = this.precision === "float32" ? 5e-5 : 3e-2 / Math.min(1, temperature);
    expect(Math.abs(value - expected)).toBeLessThan(tolerance * Math.max(1, Math.abs(expected)));
  }

  /** The log-probabilities of samples are those that `forward` gives for the same tokens. */
  async expectThoseOfForward(
    target: Engine,
    prompts: readonly (readonly number[])[],
    samples: readonly Sample[],
    options?: ForwardOptions,
  ): Promise<void> {
    const rows = samples.map(({ tokens }, b) => ({ tokens: [...prompts[b], ...tokens] }));
    const { logprobs_B_T } = await target.forward({ rows }, options);
    samples.forEach(({ logprobs }, b) => {
      logprobs.forEach((logprob, i) =>
        this.expectNear(logprob, logprobs_B_T[b][prompts[b].length + i], options?.temperature),
      );
    });
  }

  /** Whether the engine says that it cannot do this. */
  lacks(part: EngineLack): boolean {
    return this.engine.info.lacks?.includes(part) ?? false;
  }

  /** Skips a test of what the engine says it cannot do. */
  needs(skip: (note: string) => never, ...parts: readonly EngineLack[]): void {
    for (const part of parts) if (this.lacks(part)) skip(`the engine lacks ${part}`);
  }

  /** The same number: to the bit, or up to rounding where sums are cut by the size of the batch. */
  expectSame(value: number, expected: number): void {
    if (this.rounding === "fixed") expect(value).toBe(expected);
    else this.expectNear(value, expected);
  }

  /** Skips a test where the engine computes in bfloat16. */
  needsFloat32(skip: (note: string) => never, why: string): void {
    if (this.precision === "bfloat16") skip(`in bfloat16 ${why}`);
  }

  /** The gradient as the difference of two checkpoints, since the contract has no other way to see it. */
  async gradientOf(target: Engine, run: (engine: Engine) => Promise<void>): Promise<Map<string, Float64Array>> {
    const [before, after] = [join(this.folder, "before"), join(this.folder, "after")];
    await target.save(before);
    await run(target);
    await target.step(plainGradient);
    await target.save(after);
    await target.load(before);
    return checkpointDifference(before, after);
  }
}

/** Log-probabilities of a batch, of all rows one after the other. */
async function logprobsOf(target: Engine, batch: TokenBatch): Promise<number[]> {
  const { logprobs_B_T } = await target.forward(batch);
  return logprobs_B_T.flatMap((logprobs_T) => [...logprobs_T]);
}

/**
 * What a gradient does, for engines whose weights cannot be looked at: how a step of plain descent along it changes the
 * log-probabilities of some rows. The engine is left as it was found.
 */
export async function effectOf(
  context: ContractContext,
  run: (engine: Engine) => Promise<void>,
  { of: rows, size }: { of: TokenBatch; size: number },
): Promise<Map<string, Float64Array>> {
  const target = context.engine;
  const before = join(context.folder, "before-effect");
  await target.save(before);
  const start = await logprobsOf(target, rows);
  await run(target);
  await target.step({ ...plainGradient, learningRate: size * plainGradient.learningRate });
  const end = await logprobsOf(target, rows);
  await target.load(before);
  return new Map([["logprobs", Float64Array.from(end, (logprob, i) => (logprob - start[i]) / size)]]);
}

export function backward(batch: TokenBatch, derivatives: Derivatives, options?: ForwardOptions) {
  return async (target: Engine): Promise<void> => {
    await target.backward(await target.forward(batch, options), derivatives);
  };
}

/** Rows of random tokens of given lengths, every second one with a mask. */
export function randomBatch(seed: number, lengths: readonly number[]): TokenBatch {
  const rng = createRng(seed);
  return {
    rows: lengths.map((length, b) => {
      const tokens = Array.from({ length }, () => rng.integer(16));
      return b % 2 === 0 ? { tokens } : { tokens, mask: tokens.map(() => (rng.next() < 0.6 ? 1 : 0)) };
    }),
  };
}

/** Random numbers aligned with the rows, 0 outside their masks. */
export function randomRows(batch: TokenBatch, seed: number, width = 1): Float32Array[] {
  const rng = createRng(seed);
  return batch.rows.map(({ tokens, mask }) =>
    Float32Array.from({ length: tokens.length * width }, (_, i) =>
      mask === undefined || mask[Math.floor(i / width)] ? rng.normal() : 0,
    ),
  );
}

export function dot(a: Gradient, b: Gradient): number {
  let sum = 0;
  for (const [parameter, values] of a) {
    const others = b.get(parameter)!;
    for (let i = 0; i < values.length; i++) sum += values[i] * others[i];
  }
  return sum;
}

/** The difference is small beside the first. */
export function expectClose(a: Gradient, b: Gradient, relative: number): void {
  const difference = new Map(
    [...a].map(([parameter, values]) => [parameter, values.map((value, i) => value - b.get(parameter)![i])]),
  );
  expect(Math.sqrt(dot(difference, difference))).toBeLessThan(relative * Math.sqrt(dot(a, a)));
}
