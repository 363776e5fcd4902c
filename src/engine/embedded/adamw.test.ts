import { expect, test } from "vitest";
import { adamw, reduceGradients } from "./adamw.ts";

const layout = {
  slices: [
    { name: "matrix", shape: [2, 1], offset: 0, size: 2 },
    { name: "norm", shape: [1], offset: 2, size: 1 },
  ],
  joined: [],
  size: 3,
};
const fresh = () => ({
  weights: Float32Array.of(1, -2, 3),
  firstMoments: new Float32Array(3),
  secondMoments: new Float32Array(3),
});

test("the first step moves every weight by the learning rate against its gradient", () => {
  const state = fresh();
  adamw(
    state,
    Float32Array.of(0.5, -4, 1e-3),
    layout,
    { start: 0, end: 3 },
    { learningRate: 0.1, step: 1, gradientScale: 1 },
  );
  expect([...state.weights]).toEqual([expect.closeTo(0.9, 5), expect.closeTo(-1.9, 5), expect.closeTo(2.9, 4)]);
});

test("two steps equal the formula written out", () => {
  const state = fresh();
  const options = { learningRate: 0.01, beta1: 0.8, beta2: 0.9, epsilon: 1e-4, weightDecay: 0.1, gradientScale: 0.5 };
  let [m, v, w] = [0, 0, 1];
  for (const [i, g] of [3, -1].entries()) {
    adamw(state, Float32Array.of(g, 0, 0), layout, { start: 0, end: 3 }, { ...options, step: i + 1 });
    const scaled = g * 0.5;
    m = 0.8 * m + 0.2 * scaled;
    v = 0.9 * v + 0.1 * scaled ** 2;
    w = w * (1 - 0.01 * 0.1) - (0.01 * (m / (1 - 0.8 ** (i + 1)))) / (Math.sqrt(v / (1 - 0.9 ** (i + 1))) + 1e-4);
  }
  expect(state.weights[0]).toBeCloseTo(w, 6);
});

test("weight decay shrinks matrices and leaves norms alone", () => {
  const state = fresh();
  adamw(
    state,
    new Float32Array(3),
    layout,
    { start: 0, end: 3 },
    { learningRate: 0.1, weightDecay: 0.5, step: 1, gradientScale: 1 },
  );
  expect([...state.weights]).toEqual([expect.closeTo(0.95, 6), expect.closeTo(-1.9, 6), 3]);
});

test("ranges add up to the whole", () => {
  const [whole, parts] = [fresh(), fresh()];
  const gradient = Float32Array.of(1, 2, 3);
  const options = { learningRate: 0.1, weightDecay: 0.1, step: 1, gradientScale: 1 };
  adamw(whole, gradient, layout, { start: 0, end: 3 }, options);
  adamw(parts, gradient, layout, { start: 0, end: 1 }, options);
  adamw(parts, gradient, layout, { start: 1, end: 3 }, options);
  expect(parts).toEqual(whole);
});

test("gradients of threads are summed into the first", () => {
  const gradients = [Float32Array.of(1, 2, 3), Float32Array.of(10, 20, 30)];
  expect(reduceGradients(gradients, { start: 1, end: 3 })).toBe(22 ** 2 + 33 ** 2);
  expect([...gradients[0]]).toEqual([1, 22, 33]);
});
