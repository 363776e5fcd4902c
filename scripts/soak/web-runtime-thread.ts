// A thread that runs a model in onnxruntime-web: WebAssembly with vectors that somebody else made. It posts the logits' bytes.

import { readFileSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import { env, InferenceSession, Tensor } from "onnxruntime-web";

const { path, config, runs } = workerData as {
  path: string;
  config: { layers: number; keyValueHeads: number; headWidth: number };
  runs: number;
};
env.wasm.numThreads = 1;
const tokens = [3, 14, 15, 9, 26, 5, 35, 8, 9, 7];
const integers = (values: readonly number[]) =>
  new Tensor("int64", BigInt64Array.from(values, BigInt), [1, values.length]);
const empty = new Tensor("float32", new Float32Array(0), [1, config.keyValueHeads, 0, config.headWidth]);
const cache = Array.from({ length: config.layers }, (_, i) => [
  [`past_key_values.${i}.key`, empty],
  [`past_key_values.${i}.value`, empty],
]).flat();
const feeds = {
  input_ids: integers(tokens),
  attention_mask: integers(tokens.map(() => 1)),
  position_ids: integers(tokens.map((_, t) => t)),
  ...Object.fromEntries(cache),
};
const session = await InferenceSession.create(readFileSync(path));
const results = new Set<string>();
for (let run = 0; run < runs; run++) {
  const { logits } = await session.run(feeds);
  const { buffer, byteOffset, byteLength } = logits.data as Float32Array;
  results.add(Buffer.from(buffer, byteOffset, byteLength).toString("base64"));
}
parentPort!.postMessage([...results]);
