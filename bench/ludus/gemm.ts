import { floats, openSession } from "../../src/engine/embedded/session.ts";
import { Graph, matmul, toOnnx } from "../../src/tensor/index.ts";
import type { WorkloadOf } from "../child/protocol.ts";
import { type Prepared, time } from "./prepared.ts";

/** A square matrix product on all cores: the rate that everything else is compared with. */
export async function prepareGemm({ size }: WorkloadOf<"gemm">, threads: number): Promise<Prepared> {
  const graph = new Graph();
  const [a, b] = ["a", "b"].map((name) => graph.input(name, "float32", [size, size]));
  const session = await openSession(toOnnx({ product: matmul(a, b) }), threads);
  const matrix = () => floats(new Float32Array(size * size).fill(1 / size), [size, size]);
  const feeds = { a: matrix(), b: matrix() };
  return {
    run: async () => ({ seconds: await time(async () => void (await session.run(feeds))), tokens: 0 }),
    close: () => session.release(),
  };
}
