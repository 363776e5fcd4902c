import type { InferenceSession, Tensor } from "onnxruntime-node";
import { accumulateGradients } from "../differentiate.ts";
import { Graph, type Value } from "../graph.ts";
import { toOnnx } from "../onnx.ts";
import { concreteShape } from "../shape.ts";
import type { Numbers } from "./numbers.ts";
import { drawNumbers, drawSymbols, type OperatorCase, type Trial } from "./operator-case.ts";
import { createRandom } from "./random.ts";
import { fromTensor, openModel, toTensor } from "./run-graph.ts";

/** What a case came to: pairs of what ONNX Runtime computed and what it should have. */
export interface Checked {
  readonly outputs: readonly { actual: Numbers; expected: Numbers }[];
  /** Of each float input: the graph's gradient (0 where there is none), and finite differences of the reference. */
  readonly gradients: readonly { actual: Numbers; expected: Numbers }[];
  /** The raw bits of two runs. */
  readonly runs: readonly [readonly Uint8Array[], readonly Uint8Array[]];
}

/** Random shapes and inputs for a case, and gradients of a random weighted sum of its outputs. */
export async function checkOperator(operatorCase: OperatorCase, seed: number): Promise<Checked> {
  const random = createRandom(seed);
  const symbols = drawSymbols(random);
  const trial = operatorCase.trial(random, symbols);
  const inputs = trial.inputs.map((input) => drawNumbers(input, concreteShape(input.shape, symbols), random));
  const expected = [trial.reference(...inputs)].flat();
  const weights = expected.map(({ shape, data }) => ({ shape, data: data.map(() => Math.fround(random.normal())) }));
  const graph = buildGraph(trial, operatorCase.hasNoDerivative === true);

  const session = await openModel(toOnnx(graph.outputs));
  const feeds: Record<string, Tensor> = {};
  for (const name of session.inputNames) {
    const [kind, index] = [name[0], Number(name.slice(1))];
    if (kind === "x") feeds[name] = toTensor(inputs[index], trial.inputs[index].dtype);
    else feeds[name] = toTensor(weights[index], "float32");
  }
  const first = await session.run(feeds);
  const second = await session.run(feeds);
  await session.release();

  const differences = finiteDifferences(trial, inputs, weights);
  return {
    outputs: expected.map((numbers, i) => ({ actual: read(first, `y${i}`), expected: numbers })),
    gradients: operatorCase.hasNoDerivative
      ? []
      : [...differences].map(([i, numbers]) => ({
          actual: first[`g${i}`] === undefined ? zeros(numbers) : read(first, `g${i}`),
          expected: numbers,
        })),
    runs: [bits(first), bits(second)],
  };
}

interface CaseGraph {
  outputs: Record<string, Value>;
}

/** Inputs x0, x1, …; outputs y0, y1, …; gradients g0, g1, … of the inputs from those of the outputs, d0, d1, …. */
function buildGraph(trial: Trial, hasNoDerivative: boolean): CaseGraph {
  const graph = new Graph();
  const inputs = trial.inputs.map(({ dtype, shape }, i) => graph.input(`x${i}`, dtype, shape));
  const values = [trial.build(...inputs)].flat();
  const outputs: Record<string, Value> = Object.fromEntries(values.map((value, i) => [`y${i}`, value]));
  if (hasNoDerivative) return { outputs };
  const seeds = values.map((value, i) => ({ value, gradient: graph.input(`d${i}`, "float32", value.shape) }));
  const gradients = accumulateGradients(seeds, new Set(inputs.filter(({ dtype }) => dtype === "float32")));
  inputs.forEach((input, i) => {
    const gradient = gradients.get(input);
    if (gradient !== undefined && trial.inputs[i].isConstant !== true) outputs[`g${i}`] = gradient;
  });
  return { outputs };
}

/** dΣ(weights · outputs)/d(each element), by central differences of the reference in double precision. */
function finiteDifferences(
  trial: Trial,
  inputs: readonly Numbers[],
  weights: readonly Numbers[],
): Map<number, Numbers> {
  const step = 1e-5;
  const loss = () =>
    [trial.reference(...inputs)]
      .flat()
      .reduce((sum, { data }, i) => sum + data.reduce((part, value, j) => part + value * weights[i].data[j], 0), 0);
  const differences = new Map<number, Numbers>();
  trial.inputs.forEach(({ dtype, isConstant }, i) => {
    if (dtype !== "float32" || isConstant === true) return;
    const { shape, data } = inputs[i];
    const gradient = data.map((value, j) => {
      data[j] = value + step;
      const above = loss();
      data[j] = value - step;
      const below = loss();
      data[j] = value;
      return (above - below) / (2 * step);
    });
    differences.set(i, { shape, data: gradient });
  });
  return differences;
}

const read = (outputs: InferenceSession.ReturnType, name: string) => fromTensor(outputs[name] as Tensor);
const zeros = ({ shape, data }: Numbers): Numbers => ({ shape, data: new Float64Array(data.length) });

function bits(outputs: InferenceSession.ReturnType): Uint8Array[] {
  return Object.values(outputs).map((value) => {
    const { data } = value as Tensor;
    const { buffer, byteOffset, byteLength } = data as Float32Array;
    return new Uint8Array(buffer, byteOffset, byteLength).slice();
  });
}

/** The largest difference, relative to elements above 1 and absolute below; infinite where the shapes differ. */
export function worstDifference(actual: Numbers, expected: Numbers): number {
  if (actual.shape.join() !== expected.shape.join()) return Number.POSITIVE_INFINITY;
  return expected.data.reduce((worst, value, i) => {
    const difference = Math.abs(actual.data[i] - value) / Math.max(1, Math.abs(value));
    return difference <= worst ? worst : difference; // and not `>`: NaN counts as worst
  }, 0);
}
