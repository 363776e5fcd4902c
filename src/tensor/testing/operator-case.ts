import type { Value } from "../graph.ts";
import type { DType, Shape } from "../shape.ts";
import { type Numbers, withShape } from "./numbers.ts";
import type { Random } from "./random.ts";

/** One input of a case: its type in the graph, and how to draw its elements. */
export interface CaseInput {
  readonly dtype: DType;
  readonly shape: Shape;
  draw(random: Random): number;
  /** A table that by contract gets no gradient. */
  readonly isConstant?: boolean;
}

/** What an operator should compute, with shapes drawn at random. */
export interface Trial {
  readonly inputs: readonly CaseInput[];
  build(...values: Value[]): Value | readonly Value[];
  reference(...numbers: Numbers[]): Numbers | readonly Numbers[];
}

export interface OperatorCase {
  /** The exported function. */
  readonly operator: string;
  readonly about: string;
  /** For operators whose outputs have no derivative: differentiating them is an error. */
  readonly hasNoDerivative?: boolean;
  trial(random: Random, symbols: Symbols): Trial;
}

/** Sizes behind the symbols that cases use in their shapes. */
export type Symbols = Readonly<Record<"B" | "S" | "T", number>>;

export function drawSymbols(random: Random): Symbols {
  return { B: random.integer(1, 3), S: random.integer(1, 4), T: random.integer(1, 4) };
}

export function floats(...shape: Shape): CaseInput {
  return { dtype: "float32", shape, draw: (random) => random.normal() };
}

/** Between 0.3 and 2.3: where logarithm, root and reciprocal are smooth. */
export function positives(...shape: Shape): CaseInput {
  return { dtype: "float32", shape, draw: (random) => random.uniform(0.3, 2.3) };
}

/** Of either sign and at least 0.4 from 0. */
export function divisors(...shape: Shape): CaseInput {
  const draw = (random: Random) => random.uniform(0.4, 2) * (random.uniform(0, 1) < 0.5 ? -1 : 1);
  return { dtype: "float32", shape, draw };
}

/** Whole numbers below a limit. With a small limit there are duplicates. */
export function wholes(below: number, ...shape: Shape): CaseInput {
  return { dtype: "int64", shape, draw: (random) => random.integer(0, below - 1) };
}

export function drawNumbers(input: CaseInput, shape: readonly number[], random: Random): Numbers {
  const size = shape.reduce((a, b) => a * b, 1);
  return withShape({ shape, data: Float64Array.from({ length: size }, () => Math.fround(input.draw(random))) }, shape);
}
