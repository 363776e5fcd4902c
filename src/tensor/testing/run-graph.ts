import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { InferenceSession, Tensor } from "onnxruntime-node";
import type { DType } from "../shape.ts";
import type { Numbers } from "./numbers.ts";

export type NamedNumbers = Readonly<Record<string, Numbers>>;
export type NamedInputs = Readonly<Record<string, Numbers & { dtype?: DType }>>;

/** A model ready to run on one thread. */
export async function openModel(model: Uint8Array): Promise<InferenceSession> {
  return await InferenceSession.create(model, { intraOpNumThreads: 1, interOpNumThreads: 1, logSeverityLevel: 3 });
}

export function toTensor({ shape, data }: Numbers, dtype: DType): Tensor {
  return dtype === "int64"
    ? new Tensor(
        "int64",
        BigInt64Array.from(data, (value) => BigInt(value)),
        shape,
      )
    : new Tensor("float32", Float32Array.from(data), shape);
}

export function fromTensor(tensor: Tensor): Numbers {
  return { shape: tensor.dims, data: Float64Array.from(tensor.data as ArrayLike<number | bigint>, Number) };
}

/** Runs a model once; inputs are float32 unless they say otherwise. */
export async function runModel(model: Uint8Array, inputs: NamedInputs): Promise<NamedNumbers> {
  const session = await openModel(model);
  try {
    const feeds = Object.entries(inputs).map(([name, numbers]) => [
      name,
      toTensor(numbers, numbers.dtype ?? "float32"),
    ]);
    const outputs = await session.run(Object.fromEntries(feeds));
    return Object.fromEntries(Object.entries(outputs).map(([name, tensor]) => [name, fromTensor(tensor as Tensor)]));
  } finally {
    await session.release();
  }
}

/** The operator of each node of a model, in the order of the file. */
export function nodeOperators(model: Uint8Array): string[] {
  const operators: string[] = [];
  for (const graph of messages(model, 7)) {
    for (const node of messages(graph, 1)) operators.push(new TextDecoder().decode(messages(node, 4)[0]));
  }
  return operators;
}

/** The length-delimited fields of one number. */
function messages(bytes: Uint8Array, wanted: number): Uint8Array[] {
  const reader = new BinaryReader(bytes);
  const found: Uint8Array[] = [];
  while (reader.pos < reader.len) {
    const [field, wire] = reader.tag();
    if (field === wanted && wire === WireType.LengthDelimited) found.push(reader.bytes());
    else reader.skip(wire, field);
  }
  return found;
}
