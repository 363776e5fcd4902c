import { type Node, reachable, type Value } from "./graph.ts";
import { add } from "./operators/elementwise.ts";
import { formatShape, sameShape, TensorError } from "./shape.ts";

/** An output and the derivative of the loss with respect to it. */
export interface Seed {
  value: Value;
  gradient: Value;
}

/**
 * Reverse-mode differentiation as a graph-to-graph transformation: the gradients come back as values of the same graph.
 * A wanted value the seeds do not depend on is an error, not a silent zero.
 */
export function differentiate(seeds: readonly Seed[], wanted: readonly Value[]): Value[] {
  const gradients = accumulateGradients(seeds, new Set(wanted), new Set());
  return wanted.map((value) => {
    const gradient = gradients.get(value);
    if (gradient === undefined) throw new TensorError("differentiate", [value.shape], "no seed depends on this value");
    return gradient;
  });
}

/** Gradients of the wanted values that the seeds depend on; the walk does not go below `ends`. */
export function accumulateGradients(
  seeds: readonly Seed[],
  wanted: ReadonlySet<Value>,
  ends: ReadonlySet<Value> = wanted,
): Map<Value, Value> {
  const gradients = new Map<Value, Value>();
  const accumulate = (value: Value, gradient: Value) => {
    if (!sameShape(value.shape, gradient.shape)) {
      throw new TensorError(
        "differentiate",
        [value.shape, gradient.shape],
        `a gradient of ${formatShape(value.shape)} must have its shape`,
      );
    }
    const sum = gradients.get(value);
    gradients.set(value, sum === undefined ? gradient : add(sum, gradient));
  };
  for (const { value, gradient } of seeds) accumulate(value, gradient);

  const needed = dependents(seeds, wanted, ends);
  for (const node of [...needed].sort((a, b) => b.id - a.id)) {
    const incoming = node.outputs.map((output) => gradients.get(output));
    if (incoming.every((gradient) => gradient === undefined)) continue;
    if (node.operator.derivative === undefined) {
      throw new TensorError(
        node.operator.name,
        node.inputs.map((input) => input.shape),
        "has no derivative, and a wanted value leads to it",
      );
    }
    const outgoing = node.operator.derivative(node, incoming, { accumulate, wanted });
    node.inputs.forEach((input, i) => {
      const gradient = outgoing[i];
      if (gradient !== undefined && (wanted.has(input) || needed.has(input.node))) accumulate(input, gradient);
    });
  }
  return gradients;
}

/** Nodes between the wanted values and the seeds: only these are differentiated. */
function dependents(seeds: readonly Seed[], wanted: ReadonlySet<Value>, ends: ReadonlySet<Value>): Set<Node> {
  const needed = new Set<Node>();
  for (const node of reachable(seeds.map((seed) => seed.value))) {
    const isEnd = node.outputs.some((output) => ends.has(output));
    if (!isEnd && node.inputs.some((input) => wanted.has(input) || needed.has(input.node))) needed.add(node);
  }
  return needed;
}
