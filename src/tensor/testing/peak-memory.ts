// Run as a process of its own by recompute.test.ts, because peak memory is that of a process.
import { differentiate } from "../differentiate.ts";
import { Graph, type Value } from "../graph.ts";
import { toOnnx } from "../onnx.ts";
import { mul, silu, tanh } from "../operators/elementwise.ts";
import { recompute } from "../operators/recompute.ts";
import { sumKeep } from "../operators/sum.ts";
import { openModel, toTensor } from "./run-graph.ts";

const [segments, layersOfSegment, size] = [8, 3, 2 ** 20];

/** Layers of a weight each, whose gradients are the outputs. */
function deepChain(isRecomputed: boolean): Uint8Array {
  const graph = new Graph();
  const layers = Array.from({ length: segments * layersOfSegment }, (_, i) => i);
  const weights = layers.map((i) => graph.input(`w${i}`, "float32", [1]));
  const run =
    (from: number) =>
    ([input]: readonly Value[]) =>
      weights.slice(from, from + layersOfSegment).reduce((h, weight) => tanh(mul(silu(h), weight)), input);
  let h = graph.input("x", "float32", ["N"]);
  for (let s = 0; s < segments; s++) {
    const segment = run(s * layersOfSegment);
    h = isRecomputed ? recompute([h], segment) : segment([h]);
  }
  const loss = sumKeep(h, [0]);
  const gradients = differentiate([{ value: loss, gradient: graph.input("d", "float32", [1]) }], weights);
  return toOnnx(Object.fromEntries(gradients.map((gradient, i) => [`g${i}`, gradient])));
}

const session = await openModel(deepChain(process.argv[2] === "recompute"));
const x = Float64Array.from({ length: size }, (_, i) => Math.sin(i));
const feeds = Object.fromEntries(
  session.inputNames.map((name) => [
    name,
    name === "x"
      ? toTensor({ shape: [size], data: x }, "float32")
      : toTensor({ shape: [1], data: Float64Array.of(1.5) }, "float32"),
  ]),
);
const before = process.resourceUsage().maxRSS;
const { g0 } = await session.run(feeds);
const megabytes = (process.resourceUsage().maxRSS - before) / 1024;
console.log(JSON.stringify({ megabytes, gradient: (g0.data as Float32Array)[0] / size }));
