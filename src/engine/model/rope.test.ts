import { describe, expect, test } from "vitest";
import { inverseFrequencies, type RopeConfig, type RopeShape, ropeTables } from "./rope.ts";

const shape = (rope: RopeConfig, headWidth = 8, contextLength = 64): RopeShape => ({ rope, headWidth, contextLength });
const plain = shape({ type: "default", theta: 10000 });
const close = (numbers: Float32Array) => [...numbers].map((number) => expect.closeTo(number, 6));
const scaled = (numbers: Float32Array, factors: number[]) => numbers.map((number, i) => number * factors[i]);

describe("inverseFrequencies", () => {
  test("default: theta to the power of -2i / width", () => {
    expect([...inverseFrequencies(plain, 10)]).toEqual(close(Float32Array.of(1, 0.1, 0.01, 0.001)));
  });

  test("linear divides them all", () => {
    const linear = inverseFrequencies(shape({ type: "linear", theta: 10000, factor: 4 }), 10);
    expect([...linear]).toEqual(close(Float32Array.of(0.25, 0.025, 0.0025, 0.00025)));
  });

  test("dynamic changes only past the context length, and more the longer the sequence", () => {
    const dynamic = shape({ type: "dynamic", theta: 10000, factor: 2 });
    expect(inverseFrequencies(dynamic, 64)).toEqual(inverseFrequencies(plain, 64));
    // theta * (2 * 128 / 64 - 1) ^ (8 / 6)
    const theta = 10000 * 3 ** (4 / 3);
    expect([...inverseFrequencies(dynamic, 128)]).toEqual(
      close(Float32Array.from([0, 2, 4, 6], (i) => theta ** (-i / 8))),
    );
    expect(inverseFrequencies(dynamic, 256)[3]).toBeLessThan(inverseFrequencies(dynamic, 128)[3]);
  });

  test("yarn keeps the fast pairs and divides the slow ones", () => {
    const rope = { type: "yarn", theta: 10000, factor: 4, originalContextLength: 64, attentionFactor: 1.5 } as const;
    const yarn = inverseFrequencies(shape({ ...rope, betaFast: 8, betaSlow: 1, truncate: true }), 10);
    // Pair 0.10 turns 8 times in 64 positions and pair 1.01 once: rounded outwards, the ramp runs from pair 0 to pair 2.
    expect([...yarn]).toEqual(close(scaled(inverseFrequencies(plain, 10), [1, (1 + 1 / 4) / 2, 1 / 4, 1 / 4])));
  });

  test("llama3 keeps short waves, divides long ones and blends between", () => {
    const rope = { type: "llama3", theta: 10000, factor: 8, originalContextLength: 256 } as const;
    const frequencies = inverseFrequencies(shape({ ...rope, lowFrequencyFactor: 1, highFrequencyFactor: 8 }), 10);
    // Wavelengths 6.3, 62.8, 628, 6283 against bounds of 32 and 256: the second is 3.0744 / 7 of the way.
    const smooth = (256 / (2 * Math.PI * 10) - 1) / 7;
    const factors = [1, (1 - smooth) / 8 + smooth, 1 / 8, 1 / 8];
    expect([...frequencies]).toEqual(close(scaled(inverseFrequencies(plain, 10), factors)));
  });

  test("longrope takes the long factors past the original context", () => {
    const rope = { type: "longrope", theta: 10000, factor: 4, originalContextLength: 32, attentionFactor: 1 } as const;
    const long = shape({ ...rope, shortFactors: [1, 1, 1, 1], longFactors: [1, 2, 4, 8] });
    expect(inverseFrequencies(long, 32)).toEqual(inverseFrequencies(plain, 32));
    expect([...inverseFrequencies(long, 33)]).toEqual(
      close(scaled(inverseFrequencies(plain, 33), [1, 1 / 2, 1 / 4, 1 / 8])),
    );
  });
});

describe("ropeTables", () => {
  test("holds cosine and sine of position times frequency, row by row", () => {
    const { cos, sin } = ropeTables(plain, 3);
    expect(cos).toHaveLength(12);
    expect([...cos.subarray(0, 4)]).toEqual([1, 1, 1, 1]);
    expect([...sin.subarray(0, 4)]).toEqual([0, 0, 0, 0]);
    expect([...cos.subarray(8)]).toEqual(
      close(Float32Array.of(Math.cos(2), Math.cos(0.2), Math.cos(0.02), Math.cos(0.002))),
    );
    expect([...sin.subarray(8)]).toEqual(
      close(Float32Array.of(Math.sin(2), Math.sin(0.2), Math.sin(0.02), Math.sin(0.002))),
    );
  });

  test("has the attention factor in it", () => {
    const rope = {
      type: "longrope",
      theta: 10000,
      factor: 4,
      originalContextLength: 32,
      attentionFactor: 1.25,
    } as const;
    const long = shape({ ...rope, shortFactors: [1, 1, 1, 1], longFactors: [1, 1, 1, 1] });
    expect([...ropeTables(long, 2).sin]).toEqual(close(ropeTables(plain, 2).sin.map((number) => number * 1.25)));
  });

  test("a longer table begins with the shorter one where the length does not matter", () => {
    const { cos } = ropeTables(plain, 20);
    expect(cos.subarray(0, 40)).toEqual(ropeTables(plain, 10).cos);
  });
});
