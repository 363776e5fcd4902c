// Run as a process of its own by recompute.test.ts, because peak memory is that of a process.
import { differentiate } from "../differentiate.ts";
import { Graph, type Value } from "../graph.ts";
import { toOnnx } from "../onnx.ts";
import { mul, silu, tanh } from "../operators/elementwise.ts";
import { recompute } from "../operators/recompute.ts";
import { sumKeep } from "../operators/sum.ts";
import { fill } from "./numbers.ts";
import { openModel, toTensor } from "./run-graph.ts";

const [segments, layersOfSegment, size] = [8, 6, 2 ** 20];

function deepChain(isRecomputed: boolean): Uint8Array {
  const graph = new Graph();
  const [x, weight] = [graph.input("x", "float32", ["N"]), graph.input("weight", "float32", [1])];
  const segment = ([input]: readonly Value[]) => {
    let h = input!;
    for (let i = 0; i < layersOfSegment; i++) h = tanh(mul(silu(h), weight));
    return h;
  };
  let h = x;
  for (let i = 0; i < segments; i++) h = isRecomputed ? recompute([h], segment) : segment([h]);
  const [gradient] = differentiate([{ value: sumKeep(h, [0]), gradient: graph.input("d", "float32", [1]) }], [weight]);
  return toOnnx({ gradient: gradient! });
}

const session = await openModel(deepChain(process.argv[2] === "recompute"));
const one = toTensor(
  fill([1], () => 1.5),
  "float32",
);
const x = toTensor({ shape: [size], data: Float64Array.from({ length: size }, (_, i) => Math.sin(i)) }, "float32");
const { gradient } = await session.run({ x, weight: one, d: one });
console.log(
  JSON.stringify({
    peakMegabytes: process.resourceUsage().maxRSS / 1024,
    gradient: (gradient!.data as Float32Array)[0]! / size,
  }),
);
