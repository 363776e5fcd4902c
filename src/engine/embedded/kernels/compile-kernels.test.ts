import { expect, test } from "vitest";
import { small, tiny } from "../../model/model-config.ts";
import { compileBoth } from "./compile-kernels.ts";
import { kernelShape } from "./kernel-shape.ts";
import { tryKernels } from "./try-kernels.ts";

test.each([
  { name: "small", config: small({ vocabularySize: 259 }) },
  { name: "Qwen2, with biases", config: small({ vocabularySize: 100, family: "qwen2" }) },
  { name: "Qwen3, with norms of heads", config: tiny({ vocabularySize: 100, family: "qwen3" }) },
  { name: "odd widths", config: tiny({ vocabularySize: 33, width: 30, heads: 3, headWidth: 10, keyValueHeads: 1 }) },
])("V8's wide vectors give the same bits as narrow ones: $name", ({ config }) => {
  const shape = kernelShape(config);
  for (const panelWidth of [8, 16]) {
    const { wide, plain } = compileBoth(shape, panelWidth);
    const [a, b] = [wide, plain].map((module) => tryKernels(shape, { module, panelWidth, isShared: false }));
    expect(Buffer.compare(a, b)).toBe(0);
    // and what is compared are numbers
    const floats = new Float32Array(a.buffer);
    expect(floats.some(Number.isNaN)).toBe(false);
  }
});
