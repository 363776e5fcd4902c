import { spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { small, tiny } from "../../model/model-config.ts";
import { kernelBytes, kernelTrial } from "./compile-kernels.ts";
import { kernelShape } from "./kernel-shape.ts";
import { compileTwice, hasSameBits } from "./wide-modules.ts";

const tieringBudget = 13_000_000;
const hasWideVectors = Number.parseInt(process.versions.v8, 10) >= 13;

describe.runIf(hasWideVectors)("V8's wide vectors", () => {
  test.each([
    { name: "small", config: small({ vocabularySize: 259 }) },
    { name: "Qwen2, with biases", config: small({ vocabularySize: 100, family: "qwen2" }) },
    { name: "Qwen3, with norms of heads", config: tiny({ vocabularySize: 100, family: "qwen3" }) },
    { name: "odd widths", config: tiny({ vocabularySize: 33, width: 30, heads: 3, headWidth: 10, keyValueHeads: 1 }) },
  ])("give the same bits as narrow ones: $name", ({ config }) => {
    const shape = kernelShape(config);
    for (const panelWidth of [8, 16]) {
      const tryOut = kernelTrial(shape, panelWidth);
      const { wide, plain } = compileTwice(kernelBytes(shape, panelWidth), tieringBudget, tryOut);
      expect(hasSameBits(tryOut, wide, plain)).toBe(true);
      // and what is compared are numbers
      const floats = new Float32Array(tryOut(wide).buffer);
      expect(floats.some(Number.isNaN)).toBe(false);
    }
  });

  test("every kernel is optimized when its module has been made, and none of one that is made as it is", () => {
    const url = (file: string) => JSON.stringify(new URL(file, import.meta.url).href);
    const program = `
      const { kernelBytes, kernelTrial } = await import(${url("./compile-kernels.ts")});
      const { compileTwice } = await import(${url("./wide-modules.ts")});
      const { trainingBytes, trainingTrial } = await import(${url("../training/compile-training.ts")});
      const { kernelShape } = await import(${url("./kernel-shape.ts")});
      const { tiny } = await import(${url("../../model/model-config.ts")});
      const shape = kernelShape(tiny({ vocabularySize: 259, family: "qwen3" }));
      const made = [
        compileTwice(kernelBytes(shape, 16), ${tieringBudget}, kernelTrial(shape, 16)),
        compileTwice(trainingBytes(16), ${tieringBudget}, trainingTrial(16)),
      ];
      const memory = new WebAssembly.Memory({ initial: 1 });
      const optimized = (module) =>
        Object.values(new WebAssembly.Instance(module, { host: { memory } }).exports).map((f) => %IsTurboFanFunction(f));
      console.log(JSON.stringify(made.map(({ wide, plain }) => [optimized(wide), optimized(plain)])));`;
    const args = ["--allow-natives-syntax", "--input-type=module", "--eval", program];
    const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
    expect(stderr).toBe("");
    for (const [wide, plain] of JSON.parse(stdout) as boolean[][][]) {
      expect(wide.length).toBeGreaterThan(5);
      expect(wide.every(Boolean)).toBe(true);
      expect(plain.some(Boolean)).toBe(false);
    }
  });
});
