// Ludus in a process of its own. Reads requests from stdin, writes replies to stdout; ends when stdin does.

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { type Reply, Request, type Workload } from "../child/protocol.ts";
import { prepareGemm } from "./gemm.ts";
import { prepareGrpoStep } from "./grpo-step.ts";
import type { Prepared } from "./prepared.ts";
import { prepareSample } from "./sample.ts";
import { prepareTrain } from "./train.ts";
import { prepareTurnsStep } from "./turns-step.ts";

const onnxRuntime: { version: string } = JSON.parse(
  readFileSync(new URL("../../node_modules/onnxruntime-node/package.json", import.meta.url), "utf8"),
);
const versions = { node: process.versions.node, "onnxruntime-node": onnxRuntime.version };

async function prepare(workload: Workload, threads: number): Promise<Prepared> {
  switch (workload.kind) {
    case "train":
      return await prepareTrain(workload, threads);
    case "sample":
      return await prepareSample(workload, threads);
    case "grpo-step":
      return await prepareGrpoStep(workload, threads);
    case "turns-step":
      return await prepareTurnsStep(workload, threads);
    case "gemm":
      return await prepareGemm(workload, threads);
    default:
      return workload satisfies never;
  }
}

let prepared: Prepared | undefined;

async function answer(request: Request): Promise<Reply> {
  if (request.do === "run") return prepared === undefined ? { error: "run before prepare" } : await prepared.run();
  await prepared?.close();
  prepared = await prepare(request.workload, request.threads);
  return { versions };
}

for await (const line of createInterface({ input: process.stdin })) {
  const reply = await answer(Request.parse(JSON.parse(line))).catch(
    (error: unknown): Reply => ({ error: error instanceof Error ? error.message : String(error) }),
  );
  process.stdout.write(`${JSON.stringify(reply)}\n`);
}
await prepared?.close();
