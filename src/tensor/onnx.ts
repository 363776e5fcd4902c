import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { constantOf, type Emitter, isInput, type Node, type OnnxAttributes, reachable, type Value } from "./graph.ts";
import { concreteShape, type DType, type Shape, TensorError } from "./shape.ts";

// The fields of ONNX's protobuf schema that we write, by their numbers there.
const field = {
  model: { irVersion: 1, producer: 2, graph: 7, opset: 8 },
  opset: { domain: 1, version: 2 },
  graph: { node: 1, name: 2, initializer: 5, input: 11, output: 12 },
  node: { input: 1, output: 2, name: 3, operator: 4, attribute: 5, domain: 7 },
  attribute: { name: 1, float: 2, int: 3, string: 4, ints: 8, type: 20 },
  tensor: { dims: 1, type: 2, name: 8, raw: 9, external: 13, location: 14 },
  entry: { key: 1, value: 2 },
  value: { name: 1, type: 2 },
} as const;
const attributeType = { float: 1, int: 2, string: 3, ints: 7 } as const;
const tensorType: Record<DType, number> = { float32: 1, int64: 7 };
const irVersion = 10;
const opsets = [
  { domain: "", version: 20 },
  { domain: "com.microsoft", version: 1 },
];

function message(writer: BinaryWriter, number: number, write: (inner: BinaryWriter) => void): void {
  writer.tag(number, WireType.LengthDelimited).fork();
  write(writer);
  writer.join();
}

const text = (writer: BinaryWriter, number: number, value: string) =>
  writer.tag(number, WireType.LengthDelimited).string(value);
const integer = (writer: BinaryWriter, number: number, value: number) =>
  writer.tag(number, WireType.Varint).int64(value);

function writeAttribute(writer: BinaryWriter, name: string, value: OnnxAttributes[string]): void {
  text(writer, field.attribute.name, name);
  const kind = Object.keys(value)[0] as keyof typeof attributeType;
  if ("float" in value) writer.tag(field.attribute.float, WireType.Bit32).float(value.float);
  else if ("int" in value) integer(writer, field.attribute.int, value.int);
  else if ("string" in value) text(writer, field.attribute.string, value.string);
  else for (const item of value.ints) integer(writer, field.attribute.ints, item);
  integer(writer, field.attribute.type, attributeType[kind]);
}

/** The numbers of a tensor: as little-endian bytes, or where they are in a file beside the model. */
export type Stored = Uint8Array | { readonly location: string; readonly offset: number; readonly length: number };

interface Initializer {
  readonly dtype: DType;
  readonly dims: readonly number[];
  readonly stored: Stored;
}

function writeTensor(writer: BinaryWriter, name: string, { dtype, dims, stored }: Initializer): void {
  for (const dim of dims) integer(writer, field.tensor.dims, dim);
  integer(writer, field.tensor.type, tensorType[dtype]);
  text(writer, field.tensor.name, name);
  if (stored instanceof Uint8Array) {
    writer.tag(field.tensor.raw, WireType.LengthDelimited).bytes(stored);
    return;
  }
  for (const [key, value] of Object.entries(stored)) {
    message(writer, field.tensor.external, (entry) => {
      text(entry, field.entry.key, key);
      text(entry, field.entry.value, String(value));
    });
  }
  integer(writer, field.tensor.location, 1);
}

function writeValueInfo(writer: BinaryWriter, name: string, dtype: DType, shape: Shape): void {
  text(writer, field.value.name, name);
  message(writer, field.value.type, (type) =>
    message(type, 1, (tensor) => {
      integer(tensor, 1, tensorType[dtype]);
      message(tensor, 2, (dims) => {
        for (const dim of shape) {
          message(dims, 1, (inner) => (typeof dim === "number" ? integer(inner, 1, dim) : text(inner, 2, dim)));
        }
      });
    }),
  );
}

/** Before every name that is not a user's, so that inputs and outputs may have any other. */
const own = "%";

/**
 * The order nodes are written in, which is how ONNX Runtime 1.30 can be told what to compute first: it starts from the last
 * node that nothing reads, and before each node computes its inputs, last written first. So the deep input of a node (a
 * gradient) comes before the shallow one (what it is multiplied with), and a weight's gradient as soon as it can. In the order
 * of their making all weight gradients would wait for the end, and keep what they need until then.
 */
function writingOrder(nodes: readonly Node[], isRead: (node: Node) => boolean): Node[] {
  const depths = new Map<Node, number>();
  for (const node of nodes) depths.set(node, 1 + Math.max(0, ...node.inputs.map((input) => depths.get(input.node)!)));
  const byDepth = nodes.toSorted((a, b) => depths.get(a)! - depths.get(b)! || a.id - b.id);
  return [...byDepth.filter(isRead), ...byDepth.filter((node) => !isRead(node)).reverse()];
}

/**
 * What the values need, as the bytes of an ONNX model. Inputs keep their names; outputs get the names of the record. Inputs that
 * are in `weights` are part of the model and need not be fed.
 */
export function toOnnx(
  outputs: Readonly<Record<string, Value>>,
  weights: ReadonlyMap<string, Stored> = new Map(),
): Uint8Array {
  const nodes = reachable(Object.values(outputs));
  const names = new Map<Value, string>();
  const body = new BinaryWriter();
  const initializers = new Map<string, Initializer>();
  const shared = new Map<string, string>();
  let freshNames = 0;

  const readers = new Map<Value, Node[]>();
  for (const node of nodes) for (const input of node.inputs) readers.set(input, [...(readers.get(input) ?? []), node]);
  const written = new Set<Node>();
  const results = new Set(Object.values(outputs));

  const emitter: Emitter = {
    readers: (value) => readers.get(value) ?? [],
    isOutput: (value) => results.has(value),
    fused: (node) => written.add(node),
    name: (value) => {
      const constant = constantOf(value);
      return constant === undefined ? names.get(value)! : emitter.float(constant);
    },
    fresh: () => `${own}t${freshNames++}`,
    once(key, write) {
      const known = shared.get(key);
      if (known !== undefined) return known;
      const name = emitter.fresh();
      shared.set(key, name);
      write(name);
      return name;
    },
    integers(values, scalar = false) {
      const name = `${own}i${scalar ? "s" : ""}_${values.join("_")}`;
      const stored = new Uint8Array(BigInt64Array.from(values, BigInt).buffer);
      initializers.set(name, { dtype: "int64", dims: scalar ? [] : [values.length], stored });
      return name;
    },
    float(value) {
      const name = `${own}f_${value}`;
      initializers.set(name, { dtype: "float32", dims: [], stored: new Uint8Array(Float32Array.of(value).buffer) });
      return name;
    },
    node(op, inputs, outcomes, attributes = {}, domain = "") {
      message(body, field.graph.node, (writer) => {
        for (const input of inputs) text(writer, field.node.input, input);
        for (const outcome of outcomes) text(writer, field.node.output, outcome);
        text(writer, field.node.name, `${op}:${outcomes[0]}`);
        text(writer, field.node.operator, op);
        for (const [name, value] of Object.entries(attributes))
          message(writer, field.node.attribute, (inner) => writeAttribute(inner, name, value));
        if (domain !== "") text(writer, field.node.domain, domain);
      });
    },
  };

  const inputNames = new Set(
    nodes.filter(({ outputs: [value] }) => isInput(value)).map(({ attributes }) => attributes.name),
  );
  for (const [name, value] of Object.entries(outputs)) {
    if (inputNames.has(name) && value.node.attributes.name !== name)
      throw new TensorError("toOnnx", [value.shape], `the output "${name}" has the name of an input`);
    if (!isInput(value)) names.set(value, name);
  }
  for (const node of nodes) {
    for (const value of node.outputs) {
      if (!names.has(value))
        names.set(value, isInput(value) ? String(node.attributes.name) : `${own}v${node.id}_${value.index}`);
    }
  }
  const isRead = (node: Node) => node.outputs.some((value) => readers.has(value));
  for (const node of writingOrder(nodes, isRead)) if (!written.has(node)) node.operator.emit(node, emitter);
  for (const [name, value] of Object.entries(outputs)) {
    if (emitter.name(value) !== name) emitter.node("Identity", [emitter.name(value)], [name]);
  }

  const model = new BinaryWriter();
  integer(model, field.model.irVersion, irVersion);
  text(model, field.model.producer, "ludus");
  message(model, field.model.graph, (graph) => {
    graph.raw(body.finish());
    text(graph, field.graph.name, "ludus");
    for (const {
      outputs: [value],
    } of nodes.filter((node) => isInput(node.outputs[0]))) {
      const { dtype, shape } = value;
      const name = names.get(value)!;
      const stored = weights.get(name);
      if (stored === undefined) message(graph, field.graph.input, (w) => writeValueInfo(w, name, dtype, shape));
      else initializers.set(name, { dtype, dims: concreteShape(shape, {}), stored });
    }
    for (const [name, initializer] of initializers)
      message(graph, field.graph.initializer, (w) => writeTensor(w, name, initializer));
    for (const [name, value] of Object.entries(outputs))
      message(graph, field.graph.output, (w) => writeValueInfo(w, name, value.dtype, value.shape));
  });
  for (const { domain, version } of opsets) {
    message(model, field.model.opset, (writer) => {
      if (domain !== "") text(writer, field.opset.domain, domain);
      integer(writer, field.opset.version, version);
    });
  }
  return model.finish();
}
