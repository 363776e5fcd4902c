import type { OptimizerOptions } from "../engine.ts";
import type { WeightLayout } from "./weights.ts";

export const optimizerDefaults = { weightDecay: 0, beta1: 0.9, beta2: 0.999, epsilon: 1e-8 };

/** Weights being trained, all flat and of one size. */
export interface TrainState {
  weights: Float32Array;
  firstMoments: Float32Array;
  secondMoments: Float32Array;
}

export interface Range {
  start: number;
  end: number;
}

/** Adds the other threads' gradients to the first's within a range; returns the sum of squares there. */
export function reduceGradients(gradients: readonly Float32Array[], { start, end }: Range): number {
  const [total, ...others] = gradients as [Float32Array, ...Float32Array[]];
  let squares = 0;
  for (const other of others) for (let i = start; i < end; i++) total[i] = total[i] + other[i];
  for (let i = start; i < end; i++) squares += total[i] * total[i];
  return squares;
}

/**
 * One AdamW update (Loshchilov and Hutter) of a range. Weight decay is decoupled and touches matrices only: norms and
 * biases shrunk towards 0 change the function without regularising it. Arithmetic is in double precision, storage in single.
 */
export function adamw(
  state: TrainState,
  gradient: Float32Array,
  layout: WeightLayout,
  range: Range,
  options: OptimizerOptions & { step: number; gradientScale: number },
): void {
  const { learningRate, step, gradientScale } = options;
  const {
    weightDecay = optimizerDefaults.weightDecay,
    beta1 = optimizerDefaults.beta1,
    beta2 = optimizerDefaults.beta2,
    epsilon = optimizerDefaults.epsilon,
  } = options;
  const { weights, firstMoments, secondMoments } = state;
  const stepSize = learningRate / (1 - beta1 ** step);
  const secondCorrection = 1 / Math.sqrt(1 - beta2 ** step);
  for (const parameter of layout.slices) {
    const start = Math.max(range.start, parameter.offset);
    const end = Math.min(range.end, parameter.offset + parameter.size);
    const keep = parameter.shape.length > 1 ? 1 - learningRate * weightDecay : 1;
    for (let i = start; i < end; i++) {
      const g = gradient[i] * gradientScale;
      const m = beta1 * firstMoments[i] + (1 - beta1) * g;
      const v = beta2 * secondMoments[i] + (1 - beta2) * g * g;
      firstMoments[i] = m;
      secondMoments[i] = v;
      weights[i] = weights[i] * keep - (stepSize * m) / (Math.sqrt(v) * secondCorrection + epsilon);
    }
  }
}
