// The process of the soak of kernels that may crash; started by soak-kernels.ts, which counts how it ends. It sends what it has done.

import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { embedded } from "../../src/engine/embedded/embedded.ts";
import { exportOnnx } from "../../src/engine/embedded/export-onnx.ts";
import type { Engine, SampleRequest } from "../../src/engine/engine.ts";
import { type ModelConfig, tiny } from "../../src/engine/model/model-config.ts";
import type { Counts, Role, WebModel } from "./kernel-roles.ts";

const roles: readonly Role[] = ["kernels", "webassembly", "javascript", "runtime"];
const counts: Counts = { samples: 0, samples_different: 0, engines: 0, engines_different: 0 };
let isStopped = false;

function startThread(role: Role, web: WebModel): Worker {
  const worker = new Worker(new URL("./kernels-thread.ts", import.meta.url), {
    workerData: { role, model: web },
  });
  worker.on("message", (message: Counts | "ready") => {
    if (message !== "ready") Object.assign(counts, message);
  });
  worker.on("error", (error) => {
    console.error(error);
    process.exit(3);
  });
  return worker;
}

const model = (layers: number): ModelConfig => tiny({ vocabularySize: 259, layers, contextLength: 128 });

const requests: readonly SampleRequest[] = Array.from({ length: 8 }, (_, i) => ({
  tokens: Array.from({ length: 4 + i }, (_, t) => (t * 31 + i * 7) % 259),
  maxTokens: 40,
  seed: i,
}));

async function bits(engine: Engine): Promise<string> {
  const samples = await Promise.all(requests.map((request) => engine.sample(request)));
  return JSON.stringify(samples.map(({ tokens, logprobs }) => [tokens, [...logprobs]]));
}

async function openAndSample(layers: number): Promise<string> {
  const engine = await embedded({ model: model(layers), seed: 1, threads: 1, maxCacheBytes: 32 * 2 ** 20 });
  try {
    return await bits(engine);
  } finally {
    await engine.close();
  }
}

async function main(): Promise<void> {
  process.on("message", () => {
    isStopped = true;
  });
  // Ctrl-C reaches this process too; the one that started it says when to stop
  process.on("SIGINT", () => {});
  process.on("disconnect", () => process.exit());
  // what is right, before anything else happens in the process
  const engine = await embedded({ model: model(3), seed: 1, threads: 1, maxCacheBytes: 32 * 2 ** 20 });
  const expected = await bits(engine);
  const expectedOther = await openAndSample(2);
  const folder = mkdtempSync(join(tmpdir(), "ludus-soak-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  await engine.save(join(folder, "model"));
  exportOnnx(join(folder, "model"), folder);
  const web = { path: join(folder, "model.onnx"), config: model(3) };
  const threads = roles.map((role) => startThread(role, web));
  await Promise.all(threads.map((thread) => once(thread, "message")));
  for (const thread of threads) thread.postMessage("begin");
  const heart = setInterval(() => process.send!(counts), 2000);
  for (let round = 0; !isStopped; round++) {
    counts.samples += requests.length;
    if ((await bits(engine)) !== expected) counts.samples_different++;
    if (round % 10 !== 9) continue;
    counts.engines++;
    if ((await openAndSample(2)) !== expectedOther) counts.engines_different++;
  }
  const ends = threads.map((thread) => once(thread, "exit"));
  for (const thread of threads) thread.postMessage("stop");
  await Promise.all(ends);
  clearInterval(heart);
  await engine.close();
  process.send!(counts, () => process.exit());
}

await main();
