import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { describeEngine } from "../describe-engine.ts";
import { embedded } from "../embedded/embedded.ts";
import type { Engine } from "../engine.ts";
import { torch } from "./torch.ts";

const script = (name: string) => fileURLToPath(new URL(`../../../test/parity/${name}`, import.meta.url));
const stdio: ("ignore" | "pipe")[] = ["ignore", "pipe", "ignore"];
const quiet = { device: "cpu", threads: 1, log: () => {} };
const python = process.env.LUDUS_PYTHON;

/** A soft cap, two ropes, a window, joint projections, layers without rope, experts. */
const families = ["gemma2", "gemma3_text", "mistral", "phi3", "smollm3", "mixtral", "qwen3_moe"];

const parent = mkdtempSync(join(tmpdir(), "ludus-families-"));
const folderOf = (name: string) => join(parent, name);
if (python) execFileSync(python, [script("family_folders.py"), parent, ...families], { stdio });

function transformersOf(directory: string, rows: readonly (readonly number[])[]): number[][] {
  const input = join(parent, "rows.json");
  writeFileSync(input, JSON.stringify(rows));
  const found = JSON.parse(
    execFileSync(python!, [script("logprobs.py"), directory, input], { encoding: "utf8", stdio }),
  );
  // every tensor of the folder is the model's, and none is missing
  expect(found.loading).toEqual({});
  return found.logprobs;
}

function expectNear(a: ArrayLike<number>, b: ArrayLike<number>, offset = 0): void {
  expect(Math.max(...Array.from(a, (value, i) => Math.abs(value - b[offset + i])))).toBeLessThan(1e-4);
}

const logLikelihood = async (engine: Engine, rows: readonly { tokens: number[] }[]): Promise<number> =>
  (await engine.forward({ rows })).logprobs_B_T.reduce((sum, row) => row.reduce((a, b) => a + b, sum), 0);

describe.runIf(python)("models that transformers computes", () => {
  afterAll(() => rmSync(parent, { recursive: true }));

  test.each(families)("%s: sampled, compared with transformers, trained, saved and read again", async (name) => {
    const engine = await torch({ folder: folderOf(name), ...quiet });
    expect(engine.info).toMatchObject({ implementation: "transformers", contextLength: 96, vocabularySize: 64 });
    expect(describeEngine(engine.info)).toContain("computed by transformers");
    const prompts = [[1, 2, 3], Array.from({ length: 20 }, (_, i) => (7 * i) % 64), [5]];
    const samples = await Promise.all(
      prompts.map((tokens, seed) => engine.sample({ tokens, maxTokens: 15, seed, temperature: 1 })),
    );
    const rows = prompts.map((tokens, b) => ({ tokens: [...tokens, ...samples[b].tokens] }));
    const { logprobs_B_T } = await engine.forward({ rows });
    const theirs = transformersOf(
      folderOf(name),
      rows.map(({ tokens }) => tokens),
    );
    for (const [b, { logprobs }] of samples.entries()) {
      expectNear(logprobs, logprobs_B_T[b], prompts[b].length);
      expectNear(logprobs_B_T[b], theirs[b]);
    }
    const before = await logLikelihood(engine, rows);
    for (let i = 0; i < 3; i++) {
      const forward = await engine.forward({ rows });
      const uphill = rows.map(({ tokens }) => Float32Array.from(tokens, (_, t) => (t === 0 ? 0 : -1)));
      await engine.backward(forward, { logprobs_B_T: uphill });
      expect(await engine.step({ learningRate: 3e-3, maxGradientNorm: 1 })).toMatchObject({ applied: true });
    }
    expect(await logLikelihood(engine, rows)).toBeGreaterThan(before + 1);
    const saved = folderOf(`${name}-trained`);
    await engine.save(saved);
    expect(readdirSync(saved).filter((file) => file.endsWith(".safetensors"))).toEqual(["model.safetensors"]);
    const trained = await engine.forward({ rows });
    const reread = transformersOf(
      saved,
      rows.map(({ tokens }) => tokens),
    );
    trained.logprobs_B_T.forEach((row, b) => expectNear(row, reread[b]));
    await engine.load(folderOf(name));
    expectNear((await engine.forward({ rows })).logprobs_B_T[0], logprobs_B_T[0]);
    await engine.load(saved);
    expect(engine.info.policyVersion).toBe(3);
    expectNear((await engine.forward({ rows })).logprobs_B_T[1], trained.logprobs_B_T[1]);
    await engine.close();
  });

  test("the embedded engine refuses their folders and names its families and torch()", async () => {
    await expect(embedded({ folder: folderOf("mistral") })).rejects.toMatchObject({
      code: "unsupported-model",
      message: expect.stringMatching(/"mistral".*llama, qwen2 or qwen3.*torch\(\{ folder \}\)/s),
    });
  });
});
