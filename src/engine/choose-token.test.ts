import { expect, test } from "vitest";
import { createRng } from "../random.ts";
import { chooseToken, mostProbable } from "./choose-token.ts";

const probabilities = Float32Array.of(0.5, 0, 0.25, 0.125, 0.125);

test("the uniform number walks through the running sum", () => {
  const tokens = [0, 0.49, 0.51, 0.74, 0.76, 0.99].map(
    (uniform) => chooseToken(probabilities, { uniform, isGreedy: false }).token,
  );
  expect(tokens).toEqual([0, 0, 2, 2, 3, 4]);
});

test("a token of probability 0 is never drawn, also when rounding leaves the sum short", () => {
  const short = Float32Array.of(0.3, 0.3, 0);
  expect(chooseToken(short, { uniform: 1 - 2 ** -53, isGreedy: false }).token).toBe(1);
});

test("cuts keep the most probable and renormalise", () => {
  const chosen = chooseToken(probabilities, { uniform: 0.9, isGreedy: false, topK: 2 });
  expect(chosen).toEqual({ token: 2, logprob: Math.log(0.25), cutLogprob: expect.closeTo(Math.log(1 / 3), 6) });
  expect(chooseToken(probabilities, { uniform: 0.99, isGreedy: false, topP: 0.5 }).token).toBe(0);
  expect(chooseToken(probabilities, { uniform: 0.99, isGreedy: false, topP: 0.51 }).token).toBe(2);
});

test("ties are cut at the lower id", () => {
  expect([...mostProbable(Float32Array.of(0.25, 0.25, 0.25, 0.25), 2)]).toEqual([0, 1]);
});

test("the few most probable are those of a full sort", () => {
  const rng = createRng(3);
  const many = Float32Array.from({ length: 500 }, () => Math.floor(rng.next() * 50));
  const sorted = Array.from(many.keys()).sort((a, b) => many[b] - many[a] || a - b);
  for (const count of [0, 1, 5, 62, 63, 500]) expect([...mostProbable(many, count)]).toEqual(sorted.slice(0, count));
});
