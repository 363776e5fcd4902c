import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { describe, expect, test } from "vitest";
import type { Engine } from "../engine.ts";
import { readSafetensors } from "../model/safetensors.ts";
import { checkpointDifference } from "./checkpoint-arithmetic.ts";
import type { ContractContext } from "./context.ts";

function size(tensors: ReadonlyMap<string, Float64Array>): number {
  return [...tensors.values()].reduce((sum, values) => values.reduce((a, b) => a + Math.abs(b), sum), 0);
}

/** Paths of all files below a folder. */
function filesIn(directory: string): string[] {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return entries.map((entry) => relative(directory, join(entry.parentPath, entry.name))).sort();
}

export function weightsContract(context: ContractContext): void {
  describe("weights", () => {
    const rows = [{ tokens: [1, 2, 3, 4, 5, 6] }];
    const uphill = { logprobs_B_T: [Float32Array.of(0, -1, -1, -1, -1, -1)] };
    const train = async (target: Engine, weights?: string) => {
      const named = weights === undefined ? {} : { weights };
      await target.backward(await target.forward({ rows }, named), uphill);
      await target.step({ learningRate: 3e-3, weightDecay: 0.01, maxGradientNorm: 1, ...named });
    };
    const likelihood = async (target: Engine, weights = "policy") =>
      (await target.forward({ rows }, { weights })).logprobs_B_T[0].reduce((a, b) => a + b);

    test("learn, and only those that are trained", async () => {
      const other = await context.make();
      await other.snapshot("reference");
      await other.snapshot("opponent", { trainable: true });
      const start = await likelihood(other);
      for (let i = 0; i < 20; i++) await train(other);
      expect(await likelihood(other)).toBeGreaterThan(start + 1);
      context.expectSame(await likelihood(other, "reference"), start);
      context.expectSame(await likelihood(other, "opponent"), start);
      expect(other.info.policyVersion).toBe(20);
      const policy = await likelihood(other);
      for (let i = 0; i < 5; i++) await train(other, "opponent");
      expect(await likelihood(other, "opponent")).toBeGreaterThan(start + 0.2);
      context.expectSame(await likelihood(other), policy);
      await expect(train(other, "reference")).rejects.toMatchObject({ code: "frozen-weights" });
      const frozen = await other.sample({ tokens: [1, 2], maxTokens: 4, seed: 3, weights: "reference" });
      const fresh = await context.make();
      expect(frozen.tokens).toEqual((await fresh.sample({ tokens: [1, 2], maxTokens: 4, seed: 3 })).tokens);
      await other.release({ weights: "opponent" });
      expect(other.info.weights).toEqual(["policy", "reference"]);
      await fresh.close();
      await other.close();
    });

    test("changed by a step are used by the next sample of a kept rollout", async () => {
      const other = await context.make();
      const first = await other.sample({ tokens: [1, 2], maxTokens: 3, seed: 1, rollout: "kept" });
      for (let i = 0; i < 3; i++) await train(other);
      const tokens = [1, 2, ...first.tokens, 3];
      const second = await other.sample({ tokens, maxTokens: 4, seed: 2, rollout: "kept" });
      expect([...second.versions]).toEqual([3, 3, 3, 3]);
      await context.expectThoseOfForward(other, [tokens], [second]);
      await other.close();
    });

    test("changed in the middle of a sample: each token carries its version", async () => {
      const other = await context.make();
      await other.backward(await other.forward({ rows }), uphill);
      const sampling = other.sample({ tokens: [1], maxTokens: other.info.contextLength, seed: 1 });
      await other.step({ learningRate: 1e-3 });
      const { versions } = await sampling;
      expect([...versions]).toEqual([...versions].sort());
      expect(versions.every((version) => version === 0 || version === 1)).toBe(true);
      await other.close();
    });

    test("saved, loaded and trained on are those never stopped, bit for bit", async () => {
      const [middle, straight, resumed] = ["middle", "straight", "resumed"].map((part) =>
        join(context.folder, part),
      ) as [string, string, string];
      const one = await context.make();
      await one.snapshot("reference");
      for (let i = 0; i < 3; i++) await train(one);
      await one.save(middle);
      for (let i = 0; i < 3; i++) await train(one);
      await one.save(straight);
      const two = await context.make();
      await two.load(middle);
      expect(two.info.policyVersion).toBe(3);
      expect(two.info.weights).toEqual(["policy", "reference"]);
      for (let i = 0; i < 3; i++) await train(two);
      if (context.lacks("weight-files")) {
        const [going, start] = [await likelihood(one), await likelihood(one, "reference")];
        // Adam makes much of little: rounding of a gradient near 0 shows
        expect(Math.abs((await likelihood(two)) - going)).toBeLessThan(1e-3 * Math.abs(going - start));
        context.expectNear(await likelihood(two, "reference"), start);
        await one.close();
        return two.close();
      }
      await two.save(resumed);
      const files = filesIn(straight);
      expect(filesIn(resumed)).toEqual(files);
      for (const file of files)
        expect(readFileSync(join(resumed, file)).equals(readFileSync(join(straight, file))), file).toBe(true);
      await one.close();
      await two.close();
    });

    test("loaded with a fresh optimizer are as they were saved, and learn without what it remembered", async ({
      skip,
    }) => {
      context.needs(skip, "weight-files", "fresh-optimizer");
      const [trained, again] = ["trained", "again"].map((part) => join(context.folder, `optimizer-${part}`));
      const one = await context.make();
      await one.snapshot("reference");
      await one.snapshot("critic", { trainable: true });
      for (let i = 0; i < 3; i++) await train(one);
      await one.save(trained);
      // Adam's first step is as large as the learning rate; one against the direction it remembers is smaller
      const downhill = { logprobs_B_T: uphill.logprobs_B_T.map((values) => values.map((value) => -value)) };
      const change = async (optimizer: "keep" | "fresh") => {
        await one.load(trained, { optimizer });
        expect(one.info).toMatchObject({ policyVersion: 3, weights: ["policy", "reference", "critic"] });
        await one.save(again);
        expect(size(checkpointDifference(trained, again))).toBe(0);
        await one.backward(await one.forward({ rows }), downhill);
        await one.step({ learningRate: 1e-3 });
        await one.save(again);
        return size(checkpointDifference(trained, again));
      };
      const [fresh, kept] = [await change("fresh"), await change("keep")];
      expect(kept).toBeGreaterThan(0);
      expect(kept).toBeLessThan(0.8 * fresh);
      await one.load(trained, { optimizer: "fresh" });
      await train(one, "critic");
      await one.close();
    });

    test("are alone at the top of a saved folder, where other programs take every tensor file for weights", async () => {
      const other = await context.make();
      await other.snapshot("reference");
      await train(other);
      const folder = join(context.folder, "alone");
      await other.save(folder);
      const isTensors = (name: string) => name.endsWith(".safetensors");
      const model = readdirSync(folder).filter(isTensors);
      expect(model).toEqual([
        model.includes("adapter_model.safetensors") ? "adapter_model.safetensors" : "model.safetensors",
      ]);
      const source = readSafetensors(join(folder, model[0]));
      const known = (name: string) => /^(model|lm_head|base_model)\./.test(name);
      expect([...source.tensors.keys()].filter((name) => !known(name))).toEqual([]);
      source.close();
      expect(readdirSync(folder).filter((name) => name.startsWith("ludus"))).toEqual([]);
      if (!context.lacks("weight-files"))
        expect(readdirSync(join(folder, "training")).filter(isTensors).length).toBeGreaterThan(0);
      await other.close();
    });

    test("are sampled from while gradients wait for a step", async () => {
      const other = await context.make();
      // weights that have just changed, so that a sampler elsewhere needs them
      await train(other);
      await other.backward(await other.forward({ rows }), uphill);
      const sample = await other.sample({ tokens: [1, 2], maxTokens: 4, seed: 1 });
      expect([...sample.versions]).toEqual([1, 1, 1, 1]);
      await context.expectThoseOfForward(other, [[1, 2]], [sample]);
      await other.close();
    });

    test("are not saved with half a step", async () => {
      const other = await context.make();
      await other.backward(await other.forward({ rows }), uphill);
      await expect(other.save(join(context.folder, "half"))).rejects.toMatchObject({ code: "gradient-pending" });
      await other.close();
    });
  });
}
