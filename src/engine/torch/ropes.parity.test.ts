import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { embedded } from "../embedded/embedded.ts";
import type { Engine } from "../engine.ts";
import { type ModelConfig, type RopeConfig, tiny } from "../model/model-config.ts";
import { torch } from "./torch.ts";

const script = fileURLToPath(new URL("../../../test/parity/logprobs.py", import.meta.url));
const contextLength = 90;
const factors = (step: number) => Array.from({ length: 4 }, (_, i) => 1 + step * (i + 1));
const stretched = { theta: 10000, factor: 3, originalContextLength: 32 };
const ropes: readonly RopeConfig[] = [
  { type: "default", theta: 10000 },
  { type: "linear", theta: 10000, factor: 2.5 },
  { type: "dynamic", theta: 100, factor: 4 },
  { type: "llama3", ...stretched, lowFrequencyFactor: 1, highFrequencyFactor: 4 },
  { type: "yarn", ...stretched, attentionFactor: 1.1, betaFast: 32, betaSlow: 1, truncate: true },
  {
    type: "longrope",
    ...stretched,
    originalContextLength: contextLength,
    attentionFactor: 1.2,
    shortFactors: factors(0.1),
    longFactors: factors(0.6),
  },
];
const modelOf = (rope: RopeConfig): ModelConfig =>
  tiny({ vocabularySize: 32, width: 32, headWidth: 8, layers: 2, contextLength, initializerRange: 0.3, rope });

function largestGap(a: ArrayLike<number>, b: ArrayLike<number>, offset: number): number {
  return Math.max(...Array.from(a, (value, i) => Math.abs(value - b[offset + i])));
}

describe.runIf(process.env.LUDUS_PYTHON)(
  "sampling, forward and transformers agree up to the end of the context",
  () => {
    let folder: string;
    beforeAll(() => {
      folder = mkdtempSync(join(tmpdir(), "ludus-ropes-"));
    });
    afterAll(() => rmSync(folder, { recursive: true }));

    const transformersOf = (directory: string, rows: readonly (readonly number[])[]): number[][] => {
      const input = join(folder, "rows.json");
      writeFileSync(input, JSON.stringify(rows));
      const stdio: ("ignore" | "pipe")[] = ["ignore", "pipe", "ignore"];
      const found = JSON.parse(
        execFileSync(process.env.LUDUS_PYTHON!, [script, directory, input], { encoding: "utf8", stdio }),
      );
      // every tensor of the folder is the model's, and none is missing
      expect(found.loading).toEqual({});
      return found.logprobs;
    };

    const engines: [string, (model: ModelConfig) => Promise<Engine>][] = [
      ["embedded", (model) => embedded({ model, valueHead: true, seed: 3, threads: 1 })],
      ["torch", (model) => torch({ model, valueHead: true, seed: 3, device: "cpu", threads: 1, log: () => {} })],
    ];
    const cases = engines.flatMap(([name, make]) => ropes.map((rope) => [name, rope.type, make, rope] as const));

    test.each(cases)("%s, %s", async (name, type, make, rope) => {
      const engine = await make(modelOf(rope));
      const prompts = [[1, 2, 3], Array.from({ length: 40 }, (_, i) => (7 * i) % 32)];
      const samples = await Promise.all(
        prompts.map((tokens, seed) => engine.sample({ tokens, maxTokens: contextLength, seed })),
      );
      const rows = prompts.map((tokens, b) => [...tokens, ...samples[b].tokens]);
      // a row of exactly the context's length, then a short one: no pass may change what the next computes
      for (const order of [[0, 1], [1], [0]]) {
        const { logprobs_B_T } = await engine.forward({ rows: order.map((b) => ({ tokens: rows[b].slice(0, 60) })) });
        for (const [i, b] of order.entries()) {
          const start = prompts[b].length;
          expect(largestGap(samples[b].logprobs.slice(0, 60 - start), logprobs_B_T[i], start)).toBeLessThan(1e-4);
        }
      }
      const { logprobs_B_T } = await engine.forward({ rows: rows.map((tokens) => ({ tokens })) });
      const directory = join(folder, `${name}-${type}`);
      await engine.save(directory);
      const theirs = transformersOf(directory, rows);
      for (const [b, { logprobs, stop }] of samples.entries()) {
        expect(stop).toBe("context-full");
        expect(largestGap(logprobs, logprobs_B_T[b], prompts[b].length)).toBeLessThan(1e-4);
        expect(largestGap(logprobs_B_T[b], theirs[b], 0)).toBeLessThan(1e-4);
      }
      await engine.close();
    });

    test("longrope beyond its original context is refused by both, by the name of the field", async () => {
      const model = modelOf({ ...(ropes.at(-1)! as RopeConfig & { type: "longrope" }), originalContextLength: 32 });
      for (const [, make] of engines) {
        await expect(make(model)).rejects.toMatchObject({
          code: "unsupported-model",
          message: expect.stringMatching(/longrope.*max_position_embeddings 90.*original_max_position_embeddings 32/s),
        });
      }
    });
  },
);
