import { expect, test } from "vitest";
import { describeEngine } from "./describe-engine.ts";
import type { EngineInfo } from "./engine.ts";

const info: EngineInfo = {
  name: "torch",
  device: "cuda:0, bfloat16",
  implementation: "transformers",
  vocabularySize: 300,
  contextLength: 4096,
  parameters: 1_240_000,
  hasValues: false,
  policyVersion: 0,
  weights: ["policy"],
};

test("an engine is told in one line, and whether transformers computes its model", () => {
  expect(describeEngine(info)).toBe(
    "torch on cuda:0, bfloat16; 1.2M parameters, context 4096; computed by transformers",
  );
  expect(describeEngine({ ...info, implementation: "own" })).toBe(
    "torch on cuda:0, bfloat16; 1.2M parameters, context 4096",
  );
});
