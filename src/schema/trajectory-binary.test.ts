import { deflateRawSync } from "node:zlib";
import { expect, test } from "vitest";
import { LudusError } from "../errors.ts";
import { createRng } from "../random.ts";
import { annotated, fakeTrajectory } from "./fake-trajectory.ts";
import type { Trajectory } from "./trajectory.ts";
import { hintOf } from "./trajectory.ts";
import { decodeTrajectory, encodeTrajectory } from "./trajectory-binary.ts";

const empty = fakeTrajectory(createRng(1), {}, { turns: 0 });

function expectSameBits(trajectory: Trajectory): void {
  const back = decodeTrajectory(encodeTrajectory(trajectory));
  // toStrictEqual tells -0 from 0 in plain objects; typed arrays are compared by their bytes
  expect(back).toStrictEqual(trajectory);
  for (const name of ["tokens_T", "mask_T", "logprobs_T", "versions_T"] as const) {
    expect(Buffer.from(back[name].buffer)).toEqual(Buffer.from(new Uint8Array(trajectory[name].slice().buffer)));
  }
}

test("any trajectory comes back bit by bit", () => {
  const rng = createRng(2);
  for (let round = 0; round < 300; round++) expectSameBits(fakeTrajectory(rng));
});

test("what top-p and top-k left comes back", () => {
  expectSameBits(fakeTrajectory(createRng(3), { truncation: { topP: 0.9 } }));
  expectSameBits(fakeTrajectory(createRng(3), { truncation: { topK: 20 } }));
});

test("annotations come back, a hint with its tokens", () => {
  const prompt_P = Int32Array.of(0, 151_935, 2 ** 31 - 1);
  const hint = { kind: "plan", text: "\u0000-0 東京", prompt_P };
  expectSameBits(annotated(fakeTrajectory(createRng(3)), { hint, goal: { zero: -0, cells: ["\u0000", null] } }));
});

test("bytes that hold a hint as a field of the trajectory are read", () => {
  const trajectory = annotated(fakeTrajectory(createRng(3)), {});
  const { annotations: _annotations, ...first } = trajectory.turns[0];
  const guidance = { kind: "plan", text: "go on", prompt_P: [5, 0] };
  const earlier = { ...trajectory, turns: [first, ...trajectory.turns.slice(1)], guidance };
  expect(hintOf(decodeTrajectory(encodeTrajectory(earlier)))).toStrictEqual({
    ...guidance,
    prompt_P: Int32Array.of(5, 0),
  });
});

test("an empty trajectory comes back", () => {
  expect(empty.tokens_T.length).toBe(0);
  expectSameBits(empty);
});

test("negative zeros, odd floats and the largest ids come back", () => {
  const span = { start: 1, end: 5 };
  expectSameBits({
    ...empty,
    tokens_T: Int32Array.of(0, 2 ** 31 - 1, -(2 ** 31), -1, 127, 128, 16_384),
    mask_T: Uint8Array.of(0, 1, 1, 1, 1, 0, 0),
    logprobs_T: Float32Array.of(-0, -0, 0, -1.401298464324817e-45, -3.4028234663852886e38, 0, -0),
    versions_T: Int32Array.of(-1, 0, 2 ** 31 - 1, 3, 3, -1, -1),
    turns: [{ span, text: "", calls: [], reward: -0, observation: "", info: { zero: -0, none: Number.NaN } }],
    score: { total: -0, parts: { nothing: -0, up: Infinity, down: -Infinity }, success: false },
  });
});

test("long and strange texts come back", () => {
  const strange = ["東京🙂é\u0000\u2028".repeat(20_000), "\ud800 alone", "\u0000", "\u0000\u0000-0", "\u0000NaN", ""];
  const span = { start: 0, end: 0 };
  const turns = strange.map((text) => ({ span, text, calls: [], reward: 0, observation: text, stateKey: text }));
  expectSameBits({ ...empty, turns, failure: "\u0000Infinity" });
});

test("ten thousand tokens take well below 60 kB", () => {
  // harder than any text: ids of a large vocabulary without a pattern, half of them sampled
  const options = { turns: 8, tokensPerTurn: 4000, vocabularySize: 151_936 };
  const rng = createRng(12);
  let trajectory = fakeTrajectory(rng, {}, options);
  while (Math.abs(trajectory.tokens_T.length - 10_000) > 1000) trajectory = fakeTrajectory(rng, {}, options);
  const bytesPerToken = encodeTrajectory(trajectory).length / trajectory.tokens_T.length;
  expect(bytesPerToken).toBeLessThan(5);
});

test("a trajectory that would lose something is refused", () => {
  const logprobs_T = Float32Array.of(-1);
  const fields = { tokens_T: Int32Array.of(1), mask_T: Uint8Array.of(0), versions_T: Int32Array.of(-1), logprobs_T };
  expect(() => encodeTrajectory({ ...empty, ...fields })).toThrow("outside the mask");
});

test("one changed bit anywhere is an error, never another trajectory", () => {
  const bytes = encodeTrajectory(fakeTrajectory(createRng(4)));
  for (let bit = 0; bit < 8 * bytes.length; bit++) {
    const changed = bytes.slice();
    changed[bit >> 3] ^= 1 << (bit & 7);
    expect(codeOf(() => decodeTrajectory(changed))).toBe("bad-trajectory-bytes");
  }
});

test("bytes cut off anywhere, or added, are an error", () => {
  const bytes = encodeTrajectory(fakeTrajectory(createRng(5)));
  for (let length = 0; length < bytes.length; length++) {
    expect(codeOf(() => decodeTrajectory(bytes.subarray(0, length)))).toBe("bad-trajectory-bytes");
  }
  const longer = Buffer.concat([bytes, Buffer.of(0)]);
  expect(() => decodeTrajectory(longer)).toThrow(`got ${bytes.length + 1} bytes, expected ${bytes.length}`);
});

test("the error says what is wrong", () => {
  const bytes = encodeTrajectory(empty);
  expect(() => decodeTrajectory(bytes.subarray(0, 5))).toThrow("got 5 bytes, expected a header of 17");
  expect(() => decodeTrajectory(bytes.subarray(0, 40))).toThrow(`got 40 bytes, expected ${bytes.length}`);
  expect(() => decodeTrajectory(bytes.with(0, 0))).toThrow("do not start with LTRJ");
  expect(() => decodeTrajectory(bytes.with(4, 9))).toThrow("got version 9, expected version 1. A newer Ludus wrote it");
  expect(() => decodeTrajectory(bytes.with(30, bytes[30] ^ 1))).toThrow("a checksum that does not match");
  expect(() => decodeTrajectory(deflateRawSync("x".repeat(100_000)))).toThrow("do not start with LTRJ");
});

test("bytes in the middle of a larger buffer are read where they are", () => {
  const bytes = encodeTrajectory(empty);
  const larger = Buffer.concat([Buffer.alloc(7), bytes, Buffer.alloc(7)]);
  expect(decodeTrajectory(larger.subarray(7, 7 + bytes.length))).toStrictEqual(empty);
});

function codeOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    return error instanceof LudusError ? error.code : String(error);
  }
  return "no error";
}
