import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { byteTokenizer } from "../../../policy/byte-tokenizer.ts";
import { randomTexts } from "../../../policy/tokenizer.contract.ts";
import type { Tokenizer } from "../../../policy/tokenizer.ts";
import { trainBpe } from "../../../policy/train-bpe.ts";
import { createRng } from "../../../random.ts";
import { embedded } from "../../embedded/embedded.ts";
import { type PresetOptions, parameterShapes, tiny } from "../model-config.ts";
import { openCheckpoint, writeSafetensors } from "../safetensors.ts";
import { exportGguf, type GgufOptions } from "./export-gguf.ts";

// scripts/setup-llama-cpp.sh <folder>; LUDUS_LLAMA_CPP_PYTHON=<folder>/bin/python npm run test:slow -- llama-cpp
const python = process.env.LUDUS_LLAMA_CPP_PYTHON;
const script = fileURLToPath(new URL("../../../../test/parity/gguf_files.py", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "ludus-llama-cpp-"));
const at = (name: string) => join(folder, name);
afterAll(() => rmSync(folder, { recursive: true }));

interface Found {
  readonly generated: readonly (readonly number[])[];
  readonly encoded: readonly (readonly number[])[];
  readonly special: readonly (readonly number[])[];
  readonly prompt: readonly number[];
  readonly tensors: Readonly<Record<string, readonly number[]>>;
}

function llamaCpp(cases: readonly object[]): Found[] {
  writeFileSync(at("job.json"), JSON.stringify(cases));
  return JSON.parse(execFileSync(python!, [script, at("job.json")], { encoding: "utf8", maxBuffer: 1 << 28 }));
}

const words = [
  "the cat's hat is on the mat, the other cat's is not; 'something' isn't",
  'call look {"room": "attic"} and open the door (now) and look at the key!! what is it?',
];
const bytes = byteTokenizer();
const plain = trainBpe({ texts: words, vocabularySize: 320 });
const spaced = trainBpe({
  texts: [...words, "room 1 1 1 1 2 2 2 2 12 12 12 130 131 132 room"],
  vocabularySize: 330,
});
const qwen = trainBpe({ texts: [...words, "room 12, room 1234\n\n  x\n\n\n"], vocabularySize: 330, words: "qwen2" });

/** Random weights, large enough that no two tokens are nearly as likely as each other. */
const shape = { contextLength: 256, width: 64, layers: 3, heads: 4, headWidth: 16, initializerRange: 0.2 };
const rope = { theta: 10000, originalContextLength: 64 };
const yarn = { betaFast: 32, betaSlow: 1, truncate: true };
const cases: Readonly<Record<string, [Tokenizer, Partial<PresetOptions>, Partial<GgufOptions>?]>> = {
  "llama, bytes": [bytes, { keyValueHeads: 2 }],
  "llama, own words, head apart": [plain, { keyValueHeads: 1, tiedEmbeddings: false }],
  "llama, own words, spaced numbers": [spaced, { keyValueHeads: 1 }],
  "llama with biases": [bytes, { biases: { queryKeyValue: true, output: true, feedForward: true } }],
  "llama, rope llama3": [
    bytes,
    { rope: { type: "llama3", ...rope, factor: 8, lowFrequencyFactor: 1, highFrequencyFactor: 4 } },
  ],
  "llama, rope linear": [bytes, { rope: { type: "linear", theta: 5000, factor: 4 } }],
  "qwen2, Qwen's words": [qwen, { family: "qwen2", keyValueHeads: 2 }],
  "qwen2, rope yarn": [
    bytes,
    {
      family: "qwen2",
      rope: { type: "yarn", ...rope, ...yarn, factor: 4, attentionFactor: 0.1 * Math.log(4) + 1 },
    },
  ],
  "qwen3, wide heads": [qwen, { family: "qwen3", keyValueHeads: 2, headWidth: 32 }],
};

const prompts = (tokenizer: Tokenizer) =>
  ["Where is the key?", "<|im_start|>user\nlook at the hat 12<|im_end|>\n", "a"].map((text) => [
    ...tokenizer.encode(text, { special: true }),
  ]);

/** Texts of every kind, with what tokenizers are tripped by. */
const texts = [
  ...words,
  ...randomTexts(7, 200),
  ...asciiTexts(300),
  ...numberTexts(200),
  "'something' 'tis it's IT'S  two  spaces\n\nand lines \n  x\t\tend 1234567 12 3",
];

function asciiTexts(count: number): string[] {
  const random = createRng(5);
  const alphabet = "aest thx'ALd., !?()_-019\n\t\r {}\"éß中\u0301\u00a0";
  return Array.from({ length: count }, () =>
    Array.from({ length: 1 + random.integer(24) }, () => alphabet[random.integer(alphabet.length)]).join(""),
  );
}

function numberTexts(count: number): string[] {
  const random = createRng(6);
  const alphabet = "1230127  a.(-\n";
  return Array.from({ length: count }, () =>
    Array.from({ length: 1 + random.integer(24) }, () => alphabet[random.integer(alphabet.length)]).join(""),
  );
}

async function greedy(directory: string, tokenizer: Tokenizer): Promise<number[][]> {
  const engine = await embedded({ folder: directory, threads: 1 });
  const samples = await Promise.all(
    prompts(tokenizer).map((tokens) =>
      engine.sample({ tokens, maxTokens: 48, temperature: 0, seed: 1, stopTokens: [tokenizer.specialTokens.eos!.id] }),
    ),
  );
  await engine.close();
  return samples.map((sample) => [...sample.tokens]);
}

describe.runIf(python)("llama.cpp", () => {
  test("samples the same greedy tokens from every family, and cuts text into the same tokens", async () => {
    const wanted: number[][][] = [];
    const jobs: object[] = [];
    for (const [name, [tokenizer, options, exported]] of Object.entries(cases)) {
      const { vocabularySize } = tokenizer;
      const tokens = { bos: null, eos: [tokenizer.specialTokens.eos!.id], pad: null };
      const engine = await embedded({
        model: tiny({ ...shape, vocabularySize, tokens, ...options }),
        tokenizer,
        seed: 3,
      });
      await engine.save(at(name));
      await engine.close();
      wanted.push(await greedy(at(name), tokenizer));
      await exportGguf(at(name), at(`${name}.gguf`), exported);
      jobs.push({ model: at(`${name}.gguf`), context: 256, tokens: 48, prompts: prompts(tokenizer), texts });
    }
    const found = llamaCpp(jobs);
    let [same, tokensOf] = [0, 0];
    for (const [i, [name, [tokenizer, options]]] of Object.entries(cases).entries()) {
      expect(found[i].generated, name).toEqual(wanted[i]);
      for (const tokens of wanted[i]) tokensOf += tokens.length;
      // the tokenizer adds nothing; control tokens are made by a template's text alone
      for (const [t, text] of texts.entries()) {
        expect(found[i].special[t], `${name}: ${JSON.stringify(text)}`).toEqual([
          ...tokenizer.encode(text, { special: true }),
        ]);
        same++;
      }
      const model = tiny({ ...shape, vocabularySize: tokenizer.vocabularySize, ...options });
      const extra = name.includes("llama3") ? 1 : 0;
      expect(Object.keys(found[i].tensors)).toHaveLength(parameterShapes(model).length + extra);
      expect(found[i].tensors["blk.0.ffn_up.weight"]).toEqual([model.feedForwardWidth, model.width]);
    }
    console.log(`llama.cpp: ${tokensOf} greedy tokens and the tokens of ${same} texts are the same`);
  });

  test("takes float16, and adapters merged or apart", async () => {
    const name = "llama, bytes";
    const merged = await adapterOn(at(name));
    const wanted = await greedy(merged.whole, bytes);
    expect(wanted).not.toEqual(await greedy(at(name), bytes));
    await exportGguf(merged.adapter, at("merged.gguf"), { base: at(name) });
    await exportGguf(merged.adapter, at("apart.gguf"), { adapter: "apart" });
    await exportGguf(at(name), at("half.gguf"), { type: "f16" });
    const common = { context: 256, tokens: 48, prompts: prompts(bytes) };
    const [within, beside, half] = llamaCpp([
      { ...common, model: at("merged.gguf") },
      { ...common, model: at(`${name}.gguf`), adapter: at("apart.gguf") },
      { ...common, model: at("half.gguf") },
    ]);
    expect(within.generated).toEqual(wanted);
    expect(beside.generated).toEqual(wanted);
    // rounded weights: the same at first
    const whole = await greedy(at(name), bytes);
    expect(half.generated.map((tokens) => tokens.slice(0, 4))).toEqual(whole.map((tokens) => tokens.slice(0, 4)));
  });
});

/** A folder with an adapter of every matrix, as PEFT writes it, and one with the weights that it makes. */
async function adapterOn(base: string): Promise<{ readonly adapter: string; readonly whole: string }> {
  const [rank, alpha] = [3, 6];
  const random = createRng(11);
  const [adapter, whole] = [at("adapter"), at("whole")];
  cpSync(base, whole, { recursive: true });
  cpSync(base, adapter, { recursive: true, filter: (path) => !/model\.safetensors$|training/.test(path) });
  writeFileSync(
    join(adapter, "adapter_config.json"),
    JSON.stringify({ peft_type: "LORA", r: rank, lora_alpha: alpha, target_modules: "all-linear" }),
  );
  const source = openCheckpoint(base);
  const parts: { name: string; shape: number[]; data: Float32Array }[] = [];
  const changed = [...source.tensors].map(([name, { shape }]) => {
    const data = source.tensor(name);
    if (!/_proj\.weight$/.test(name)) return { name, shape, data };
    const [rows, columns] = shape;
    const numbers = (length: number) => Float32Array.from({ length }, () => 0.3 * (random.next() - 0.5));
    const [a, b] = [numbers(rank * columns), numbers(rows * rank)];
    const prefix = `base_model.model.${name.replace(/\.weight$/, "")}`;
    parts.push({ name: `${prefix}.lora_A.weight`, shape: [rank, columns], data: a });
    parts.push({ name: `${prefix}.lora_B.weight`, shape: [rows, rank], data: b });
    const sum = data.map((value, i) => {
      const [row, column] = [Math.floor(i / columns), i % columns];
      let product = 0;
      for (let k = 0; k < rank; k++) product += b[row * rank + k] * a[k * columns + column];
      return value + (alpha / rank) * product;
    });
    return { name, shape, data: sum };
  });
  source.close();
  writeSafetensors(join(whole, "model.safetensors"), changed);
  writeSafetensors(join(adapter, "adapter_model.safetensors"), parts);
  expect(readdirSync(adapter)).not.toContain("model.safetensors");
  expect(JSON.parse(readFileSync(join(adapter, "config.json"), "utf8")).model_type).toBe("llama");
  return { adapter, whole };
}
