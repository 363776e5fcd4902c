import { type DType, type Shape, TensorError } from "./shape.ts";

/** The type of a value: what it holds and in which shape. */
export interface Type {
  readonly dtype: DType;
  readonly shape: Shape;
}

export type Attribute = number | boolean | string | readonly number[];
export type Attributes = Readonly<Record<string, Attribute>>;

/** Where an operator writes its ONNX nodes; made by `toOnnx`. */
export interface Emitter {
  name(value: Value): string;
  /** The nodes that read a value; an output of the graph is read by none and yet not free to go. */
  readers(value: Value): readonly Node[];
  isOutput(value: Value): boolean;
  /** Says that a node has been written as part of another. */
  fused(node: Node): void;
  fresh(): string;
  /** A helper value that several nodes share: written for the first, reused by the others. */
  once(key: string, write: (name: string) => void): string;
  integers(values: readonly number[], scalar?: boolean): string;
  float(value: number): string;
  node(
    op: string,
    inputs: readonly string[],
    outputs: readonly string[],
    attributes?: OnnxAttributes,
    domain?: string,
  ): void;
}

export type OnnxAttributes = Readonly<
  Record<string, { int: number } | { ints: readonly number[] } | { float: number } | { string: string }>
>;

/** One operator: how it types, how it differentiates, how it is written in ONNX. */
export interface Operator {
  readonly name: string;
  infer(inputs: readonly Value[], attributes: Attributes): readonly Type[];
  /** Gradients of the inputs from gradients of the outputs; absent for operators on indices. */
  readonly derivative?: (
    node: Node,
    gradients: readonly (Value | undefined)[],
    context: DerivativeContext,
  ) => readonly (Value | undefined)[];
  emit(node: Node, emitter: Emitter): void;
}

/** Lets a derivative add to values that are not among the node's inputs (recomputed segments do). */
export interface DerivativeContext {
  accumulate(value: Value, gradient: Value): void;
  /** Further values whose gradients are wanted by the caller. */
  readonly wanted: ReadonlySet<Value>;
}

export class Node {
  readonly id: number;
  readonly operator: Operator;
  readonly inputs: readonly Value[];
  readonly attributes: Attributes;
  readonly outputs: readonly Value[];

  constructor(graph: Graph, id: number, operator: Operator, inputs: readonly Value[], attributes: Attributes) {
    this.id = id;
    this.operator = operator;
    this.inputs = inputs;
    this.attributes = attributes;
    this.outputs = operator.infer(inputs, attributes).map((type, index) => new Value(graph, this, index, type));
  }
}

export class Value {
  readonly graph: Graph;
  readonly node: Node;
  readonly index: number;
  readonly dtype: DType;
  readonly shape: Shape;

  constructor(graph: Graph, node: Node, index: number, type: Type) {
    this.graph = graph;
    this.node = node;
    this.index = index;
    this.dtype = type.dtype;
    this.shape = type.shape;
  }
}

const inputOperator: Operator = {
  name: "input",
  infer: (_, { dtype, shape }) => [{ dtype: dtype as DType, shape: parseShape(String(shape)) }],
  emit() {},
};

const constantOperator: Operator = {
  name: "constant",
  infer: () => [{ dtype: "float32", shape: [] }],
  derivative: () => [],
  emit() {},
};

function parseShape(text: string): Shape {
  return text === "" ? [] : text.split(",").map((dim) => (/^\d+$/.test(dim) ? Number(dim) : dim));
}

/**
 * A graph under construction. Nodes are made once: asking for the same operator on the same inputs returns the node there
 * is, so common subexpressions never exist, and what nothing asks for is never written out.
 *
 *     const graph = new Graph();
 *     const x = graph.input("x", "float32", ["B", 4]);
 *     const y = sum(mul(x, x), [1]);
 *     const [dx] = differentiate([{ value: y, gradient: graph.input("dy", "float32", ["B"]) }], [x]);
 *     const bytes = toOnnx({ y, dx });
 */
export class Graph {
  readonly #nodes = new Map<string, Node>();
  #nextId = 0;
  readonly #ids = new WeakMap<Value, string>();

  input(name: string, dtype: DType, shape: Shape): Value {
    const known = this.#nodes.get(`input:${name}`);
    if (known !== undefined)
      throw new TensorError("input", [shape], `the name "${name}" is taken; input names are unique`);
    return this.#make(`input:${name}`, inputOperator, [], { name, dtype, shape: shape.join(",") })[0];
  }

  /** A float scalar. */
  constant(value: number): Value {
    const key = `constant:${value}`;
    return (this.#nodes.get(key)?.outputs ?? this.#make(key, constantOperator, [], { value }))[0];
  }

  apply(operator: Operator, inputs: readonly Value[], attributes: Attributes = {}): readonly Value[] {
    const key = this.#key(operator, inputs, attributes);
    return this.#nodes.get(key)?.outputs ?? this.#make(key, operator, inputs, attributes);
  }

  /** The outputs of a node if the graph has it already; never makes one. */
  find(operator: Operator, inputs: readonly Value[], attributes: Attributes = {}): readonly Value[] | undefined {
    return this.#nodes.get(this.#key(operator, inputs, attributes))?.outputs;
  }

  #key(operator: Operator, inputs: readonly Value[], attributes: Attributes): string {
    const names = inputs.map((input) => {
      if (input.graph !== this)
        throw new TensorError(operator.name, [input.shape], "all inputs must belong to one graph");
      return this.#ids.get(input);
    });
    return `${operator.name}(${names.join(",")})${JSON.stringify(attributes)}`;
  }

  #make(key: string, operator: Operator, inputs: readonly Value[], attributes: Attributes): readonly Value[] {
    const node = new Node(this, this.#nextId++, operator, inputs, attributes);
    for (const output of node.outputs) this.#ids.set(output, `${node.id}.${output.index}`);
    this.#nodes.set(key, node);
    return node.outputs;
  }
}

/** The value of a constant scalar, if it is one. */
export function constantOf(value: Value): number | undefined {
  return value.node.operator === constantOperator ? Number(value.node.attributes.value) : undefined;
}

export function isInput(value: Value): boolean {
  return value.node.operator === inputOperator;
}

/** Every node the values need, inputs first. */
export function reachable(values: readonly Value[]): Node[] {
  const seen = new Set<Node>();
  const stack = values.map((value) => value.node);
  while (stack.length > 0) {
    const node = stack.pop()!;
    if (seen.has(node)) continue;
    seen.add(node);
    for (const input of node.inputs) stack.push(input.node);
  }
  return [...seen].sort((a, b) => a.id - b.id);
}
