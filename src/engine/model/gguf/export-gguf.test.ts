import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { byteTokenizer } from "../../../policy/byte-tokenizer.ts";
import { tokenizerFromFiles } from "../../../policy/load-tokenizer.ts";
import { trainBpe } from "../../../policy/train-bpe.ts";
import { embedded } from "../../embedded/embedded.ts";
import { type ModelConfig, parameterShapes, tiny } from "../model-config.ts";
import { openCheckpoint, writeSafetensors } from "../safetensors.ts";
import { exportGguf } from "./export-gguf.ts";
import { float16Bits } from "./gguf-file.ts";
import { tokenizerMetadata } from "./gguf-tokenizer.ts";
import { readGguf } from "./testing/read-gguf.ts";

const folder = mkdtempSync(join(tmpdir(), "ludus-gguf-"));
const at = (...names: string[]) => join(folder, ...names);
afterAll(() => rmSync(folder, { recursive: true }));

const tokenizer = byteTokenizer();
const size = { contextLength: 32, width: 32, layers: 2, heads: 4, headWidth: 8, feedForwardWidth: 48 };
const models: Readonly<Record<string, ModelConfig>> = {
  llama: tiny({ ...size, vocabularySize: 270, keyValueHeads: 2, tokens: { bos: null, eos: [258], pad: 256 } }),
  qwen2: tiny({ ...size, vocabularySize: 265, family: "qwen2", keyValueHeads: 2 }),
  qwen3: tiny({ ...size, vocabularySize: 265, family: "qwen3", headWidth: 16, tiedEmbeddings: false }),
};

beforeAll(async () => {
  for (const [name, model] of Object.entries(models)) {
    const engine = await embedded({ model, tokenizer, seed: 3, threads: 1 });
    await engine.save(at(name));
    await engine.close();
  }
});

/** A copy of a model's folder with a file changed. */
function changed(name: string, file: string, change: (json: Record<string, unknown>) => object): string {
  const copy = mkdtempSync(at("changed-"));
  cpSync(at(name), copy, { recursive: true });
  writeFileSync(join(copy, file), JSON.stringify(change(JSON.parse(readFileSync(join(copy, file), "utf8")))));
  return copy;
}

describe("a model as GGUF", () => {
  test.each(Object.keys(models))("%s: every number is there, at its place", async (name) => {
    await exportGguf(at(name), at(`${name}.gguf`), { name: "agent" });
    const { metadata, tensors } = readGguf(at(`${name}.gguf`));
    const { family, layers, width, headWidth, heads, keyValueHeads } = models[name];
    expect(metadata).toMatchObject({
      "general.architecture": family,
      "general.name": "agent",
      [`${family}.block_count`]: layers,
      [`${family}.embedding_length`]: width,
      [`${family}.attention.head_count`]: heads,
      [`${family}.attention.head_count_kv`]: keyValueHeads,
      [`${family}.attention.key_length`]: headWidth,
    });
    const shapes = parameterShapes(models[name]);
    expect(tensors.size).toBe(shapes.length);
    const source = openCheckpoint(at(name));
    const read = (hugging: string, gguf: string) => [source.tensor(hugging), tensors.get(gguf)!.data];
    for (const [hugging, gguf] of [
      ["model.embed_tokens.weight", "token_embd.weight"],
      ["model.layers.1.mlp.down_proj.weight", "blk.1.ffn_down.weight"],
      ["model.layers.0.self_attn.v_proj.weight", "blk.0.attn_v.weight"],
      ["model.norm.weight", "output_norm.weight"],
    ]) {
      const [wanted, got] = read(hugging, gguf);
      expect(got).toEqual(wanted);
      expect(tensors.get(gguf)!.shape).toEqual(shapes.find((shape) => shape.name === hugging)!.shape);
    }
    const [wanted, got] = read("model.layers.1.self_attn.k_proj.weight", "blk.1.attn_k.weight");
    const row = (data: Float32Array, i: number) => [...data.subarray(i * width, (i + 1) * width)];
    // row 3 of the second head: in pairs it is the second half's second number
    const from = family === "llama" ? headWidth + headWidth / 2 + 1 : headWidth + 3;
    expect(row(got, headWidth + 3)).toEqual(row(wanted, from));
    source.close();
  });

  test("tokens, kinds, roles and template are in the file", async () => {
    await exportGguf(at("llama"), at("roles.gguf"));
    const { metadata } = readGguf(at("roles.gguf"));
    const tokens = metadata["tokenizer.ggml.tokens"] as string[];
    const types = metadata["tokenizer.ggml.token_type"] as number[];
    expect(tokens).toHaveLength(270);
    expect(tokens[32]).toBe("Ġ");
    expect([tokens[258], types[258]]).toEqual(["<|im_end|>", 3]);
    expect([tokens[259], types[259]]).toEqual(["<tool_call>", 4]);
    expect([tokens[269], types[269]]).toEqual(["[UNUSED269]", 5]);
    expect(metadata["tokenizer.ggml.eos_token_id"]).toBe(258);
    expect(metadata["tokenizer.ggml.padding_token_id"]).toBe(256);
    expect(metadata["tokenizer.ggml.add_bos_token"]).toBe(false);
    expect(metadata["tokenizer.chat_template"]).toBe(tokenizer.chatTemplate);
  });

  test("float16 halves the matrices and leaves vectors as they are", async () => {
    await exportGguf(at("qwen2"), at("half.gguf"), { type: "f16" });
    const [half, whole] = [readGguf(at("half.gguf")), readGguf(at("qwen2.gguf"))];
    expect(half.tensors.get("blk.0.attn_q.bias")).toEqual(whole.tensors.get("blk.0.attn_q.bias"));
    const [got, wanted] = [half, whole].map(({ tensors }) => tensors.get("blk.0.ffn_up.weight")!.data);
    expect(got).not.toEqual(wanted);
    for (const [i, value] of wanted.entries()) expect(Math.abs(got[i] - value)).toBeLessThan(2 ** -11 * 0.2);
  });

  test("the frequencies of rope llama3 are a tensor", async () => {
    const rope = {
      rope_type: "llama3",
      factor: 8,
      low_freq_factor: 1,
      high_freq_factor: 4,
      original_max_position_embeddings: 64,
    };
    await exportGguf(
      changed("llama", "config.json", (json) => ({ ...json, rope_scaling: rope })),
      at("rope.gguf"),
    );
    const factors = readGguf(at("rope.gguf")).tensors.get("rope_freqs.weight")!.data;
    expect(factors[0]).toBe(1);
    expect(factors.at(-1)).toBeCloseTo(8, 5);
  });
});

test("float16 is rounded to the nearest, ties to even", () => {
  const bits = (value: number) => float16Bits(new Uint32Array(Float32Array.of(value).buffer)[0]);
  const cases = [
    [1, 0x3c00],
    [-2, 0xc000],
    [65504, 0x7bff],
    [65520, 0x7c00],
    [1 + 2 ** -11, 0x3c00],
    [1 + 3 * 2 ** -11, 0x3c02],
    [2 ** -24, 0x0001],
    [2 ** -25, 0],
    [2 ** -14 - 2 ** -25, 0x0400],
    [-0, 0x8000],
    [Number.NaN, 0x7e00],
  ] as const;
  expect(cases.map(([value]) => bits(value))).toEqual(cases.map(([, wanted]) => wanted));
});

describe("adapters", () => {
  const [rank, alpha] = [2, 6];
  const target = "model.layers.0.self_attn.q_proj";

  function adapterFolder(config: object = {}, name = target, rows = 32): string {
    const directory = mkdtempSync(at("adapter-"));
    for (const file of readdirSync(at("llama")).filter((each) => !/safetensors|training/.test(each)))
      cpSync(join(at("llama"), file), join(directory, file));
    const settings = { peft_type: "LORA", r: rank, lora_alpha: alpha, base_model_name_or_path: null, ...config };
    writeFileSync(join(directory, "adapter_config.json"), JSON.stringify(settings));
    writeSafetensors(join(directory, "adapter_model.safetensors"), [
      { name: `base_model.model.${name}.lora_A.weight`, shape: [rank, 32], data: new Float32Array(64).fill(0.5) },
      {
        name: `base_model.model.${name}.lora_B.weight`,
        shape: [rows, rank],
        data: Float32Array.from({ length: rows * rank }, (_, i) => i),
      },
    ]);
    return directory;
  }

  test("are added to the base's weights", async () => {
    await exportGguf(adapterFolder(), at("merged.gguf"), { base: at("llama") });
    await exportGguf(at("llama"), at("base.gguf"));
    const [merged, base] = ["merged.gguf", "base.gguf"].map((name) => readGguf(at(name)).tensors);
    expect(merged.get("blk.0.attn_k.weight")).toEqual(base.get("blk.0.attn_k.weight"));
    const [got, before] = [merged, base].map((tensors) => tensors.get("blk.0.attn_q.weight")!.data);
    // row 1 of the first head in pairs is row 4: 3 * (8 * 0.5 + 9 * 0.5)
    expect(got[32] - before[32]).toBeCloseTo(25.5, 3);
  });

  test("are written apart, rows in pairs as the base's", async () => {
    await exportGguf(adapterFolder(), at("apart.gguf"), { adapter: "apart" });
    const { metadata, tensors } = readGguf(at("apart.gguf"));
    expect(metadata).toEqual({
      "general.type": "adapter",
      "general.architecture": "llama",
      "adapter.type": "lora",
      "adapter.lora.alpha": alpha,
    });
    expect([...tensors.keys()]).toEqual(["blk.0.attn_q.weight.lora_a", "blk.0.attn_q.weight.lora_b"]);
    expect([...tensors.get("blk.0.attn_q.weight.lora_b")!.data.subarray(2, 4)]).toEqual([8, 9]);
  });

  test("are refused without their base, of another kind, or of another model", async () => {
    await expect(exportGguf(adapterFolder(), at("no.gguf"))).rejects.toThrow(/no-base-model.*--base/s);
    const dora = adapterFolder({ use_dora: true });
    await expect(exportGguf(dora, at("no.gguf"), { base: at("llama") })).rejects.toThrow(/unsupported-adapter.*dora/s);
    const other = adapterFolder({}, "model.layers.7.self_attn.q_proj");
    await expect(exportGguf(other, at("no.gguf"), { adapter: "apart" })).rejects.toThrow(/other-adapter.*layers\.7/s);
    const tall = adapterFolder({}, target, 16);
    await expect(exportGguf(tall, at("no.gguf"), { adapter: "apart" })).rejects.toThrow(/other-adapter.*\[32,2\]/s);
    expect(existsSync(at("no.gguf"))).toBe(false);
  });
});

describe("what cannot be written is refused, and nothing is left behind", () => {
  const refusal = (directory: string, options = {}) =>
    exportGguf(directory, at("refused.gguf"), options).then(
      () => "written",
      (error: Error) => error.message,
    );

  test("models of other families and with what llama.cpp does not compute", async () => {
    const config = (fields: object, name = "llama") => changed(name, "config.json", (json) => ({ ...json, ...fields }));
    expect(await refusal(config({ model_type: "mistral" }))).toMatch(/unsupported-model.*mistral/s);
    const longrope = {
      rope_type: "longrope",
      short_factor: [1, 1, 1, 1],
      long_factor: [1, 1, 1, 1],
      original_max_position_embeddings: 32,
    };
    expect(await refusal(config({ rope_scaling: longrope }))).toMatch(/not-in-gguf.*longrope/s);
    const yarn = { rope_type: "yarn", factor: 4, attention_factor: 1, original_max_position_embeddings: 8 };
    expect(await refusal(config({ rope_scaling: yarn }))).toMatch(/not-in-gguf.*attention_factor 1/s);
    const llama3 = { rope_type: "llama3", factor: 8, low_freq_factor: 1, high_freq_factor: 4 };
    expect(await refusal(config({ rope_scaling: llama3 }, "qwen3"))).toMatch(/llama3 in a qwen3 model/);
  });

  test("a folder without weights, a misspelt option, a type that is none", async () => {
    mkdirSync(at("empty"));
    expect(await refusal(at("empty"))).toMatch(/checkpoint-not-found/);
    expect(await refusal(at("llama"), { typ: "f16" })).toMatch(/did you mean "type"/);
    expect(await refusal(at("llama"), { type: "q4_0" })).toMatch(/bad-option.*"f32" or "f16"/s);
  });

  test("a number beyond float16", async () => {
    const copy = changed("llama", "config.json", (json) => json);
    const source = openCheckpoint(at("llama"));
    const tensors = [...source.tensors].map(([name, { shape }]) => ({ name, shape, data: source.tensor(name) }));
    tensors.find(({ name }) => name.includes("up_proj"))!.data[5] = 70000;
    source.close();
    writeSafetensors(join(copy, "model.safetensors"), tensors);
    expect(await refusal(copy, { type: "f16" })).toMatch(/weight-too-large: got 70000 in blk\.0\.ffn_up\.weight/);
    expect(await refusal(copy)).toBe("written");
    rmSync(at("refused.gguf"));
  });

  test("a folder that is not there, and a file that is", async () => {
    await expect(exportGguf(at("llama"), at("nowhere", "a.gguf"))).rejects.toThrow(/checkpoint-not-written.*ENOENT/s);
    mkdirSync(at("a-folder.gguf"));
    await expect(exportGguf(at("llama"), at("a-folder.gguf"))).rejects.toThrow(/checkpoint-not-written/);
    // an old file is there until the new one is whole
    writeFileSync(at("old.gguf"), "old");
    const broken = changed("llama", "config.json", (json) => ({ ...json, intermediate_size: 50 }));
    await expect(exportGguf(broken, at("old.gguf"))).rejects.toThrow(/bad-tensor-shape/);
    expect(readFileSync(at("old.gguf"), "utf8")).toBe("old");
    expect(readdirSync(folder).filter((name) => name.includes("partial"))).toEqual([]);
  });
});

describe("tokenizers", () => {
  const texts = ["the cat's hat is on the mat, the other cat's is not", "open the door (now) and look at the key!!"];
  const metadata = (made: ReturnType<typeof trainBpe>, vocabularySize = made.vocabularySize) =>
    tokenizerMetadata(made, tiny({ ...size, vocabularySize, keyValueHeads: 2 }));
  const pre = (made: ReturnType<typeof trainBpe>) => metadata(made)["tokenizer.ggml.pre"]?.value;

  function rewritten(change: (json: Record<string, never>) => unknown) {
    const made = trainBpe({ texts, vocabularySize: 290, words: "qwen2" });
    const files = made.files();
    const json = JSON.parse(files["tokenizer.json"]);
    change(json);
    return tokenizerFromFiles({ ...files, "tokenizer.json": JSON.stringify(json) });
  }

  test("are named after the way they cut text", () => {
    expect(pre(byteTokenizer())).toBe("gpt-2");
    expect(pre(trainBpe({ texts, vocabularySize: 290, words: "qwen2" }))).toBe("qwen2");
    expect(pre(trainBpe({ texts, vocabularySize: 290 }))).toBe("deepseek-v3");
    const split = (json: Record<string, never>) =>
      (json.pre_tokenizer as { pretokenizers: { pattern: { Regex: string } }[] }).pretokenizers[0];
    const llama3 = (json: Record<string, never>) => {
      const { pattern } = split(json);
      pattern.Regex = pattern.Regex.replace("\\p{N}|", "\\p{N}{1,3}|");
    };
    expect(pre(rewritten(llama3))).toBe("dbrx");
    expect(
      pre(
        rewritten((json) => {
          llama3(json);
          Object.assign(json.model, { ignore_merges: true });
        }),
      ),
    ).toBe("llama-bpe");
  });

  test("of spaces with numbers have them found before a text is cut", () => {
    const made = trainBpe({ texts: ["room 12 and room 12 and room 1 1 1"], vocabularySize: 290 });
    const written = metadata(made);
    const tokens = written["tokenizer.ggml.tokens"]!.value as string[];
    const kinds = written["tokenizer.ggml.token_type"]!.value as number[];
    expect(tokens.filter((_, id) => kinds[id] === 4 && !made.controlTokens.has(tokens[id]!))).toEqual([" 1", " 12"]);
    expect(written["tokenizer.ggml.merges"]!.value).not.toContainEqual(expect.stringMatching(/[0-9]/));
    expect(written["tokenizer.ggml.pre"]!.value).toBe("deepseek-v3");
  });

  test("that llama.cpp would read otherwise are refused by name", () => {
    const numbers = ["a 1 1 1", "x=12 x=12 x=12"];
    expect(() => pre(trainBpe({ texts: numbers, vocabularySize: 290 }))).toThrow(
      /tokenizer-not-in-gguf: got the tokens "Ġ1" and "12".*fromScratch\(\{ words: "qwen2" \}\)/s,
    );
    expect(() => pre(trainBpe({ texts: ["a  b  c    d    e"], vocabularySize: 290 }))).toThrow(/the token "ĠĠ"/);
    const besides = trainBpe({ texts: ["a 1 1 1"], vocabularySize: 290, markup: ["1:"] });
    expect(() => pre(besides)).toThrow(/the token "Ġ1" and the added token "1:"/);
    const cut = rewritten((json) =>
      Object.assign(json, { pre_tokenizer: { type: "ByteLevel", add_prefix_space: false, use_regex: false } }),
    );
    expect(() => pre(cut)).toThrow(/pre-tokenizer of bytes/);
    const lower = rewritten((json) => Object.assign(json, { normalizer: { type: "Lowercase" } }));
    expect(() => pre(lower)).toThrow(/normalizer of type Lowercase/);
    const unigram = rewritten((json) =>
      Object.assign(json, {
        model: {
          type: "Unigram",
          vocab: [...Object.keys((json.model as { vocab: object }).vocab)].map((token) => [token, 0]),
          unk_id: 0,
        },
      }),
    );
    expect(() => pre(unigram)).toThrow(/tokenizer of type Unigram/);
    const stripping = rewritten((json) => Object.assign(json.added_tokens[0], { rstrip: true }));
    expect(() => pre(stripping)).toThrow(/added token.*rstrip/);
    expect(() => metadata(byteTokenizer(), 260)).toThrow(/tokenizer-too-large/);
  });
});
