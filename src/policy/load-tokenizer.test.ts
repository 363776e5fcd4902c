import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { byteCharacters } from "./byte-level.ts";
import { loadTokenizer, tokenizerFromFiles, tokenizerFromJson } from "./load-tokenizer.ts";
import { tokenizerContract } from "./tokenizer.contract.ts";
import { trainBpe } from "./train-bpe.ts";

const bytes = Object.fromEntries(byteCharacters.map((character, id) => [character, id]));
const byteLevel = { type: "ByteLevel", add_prefix_space: false, use_regex: true };
const added = (id: number, content: string, flags: object = {}) => ({
  id,
  content,
  normalized: false,
  special: true,
  ...flags,
});

function byteLevelJson(changes: object = {}, model: object = {}): object {
  return {
    added_tokens: [added(300, "<end>"), added(301, "<tool>", { special: false })],
    normalizer: null,
    pre_tokenizer: byteLevel,
    decoder: byteLevel,
    model: { type: "BPE", vocab: { ...bytes, he: 256, hel: 257, "<e": 258 }, merges: ["h e", "he l", "< e"], ...model },
    ...changes,
  };
}

tokenizerContract("GPT-2-like JSON", () => tokenizerFromJson(byteLevelJson(), { eos_token: "<end>" }));

describe("loadTokenizer", () => {
  const root = mkdtempSync(join(tmpdir(), "ludus-load-"));
  afterAll(() => rmSync(root, { recursive: true }));
  const folder = (name: string, files: Readonly<Record<string, string>>) => {
    mkdirSync(join(root, name));
    for (const [file, contents] of Object.entries(files)) writeFileSync(join(root, name, file), contents);
    return join(root, name);
  };

  test("reads back what files() wrote", async () => {
    const tokenizer = trainBpe({ texts: ["some words, some more words"], vocabularySize: 275 });
    const loaded = await loadTokenizer(folder("round-trip", tokenizer.files()));
    expect(loaded.files()).toEqual(tokenizer.files());
    expect(loaded.encode("some words<|im_end|>", { special: true })).toEqual(
      tokenizer.encode("some words<|im_end|>", { special: true }),
    );
    expect(loaded.chatTemplate).toBe(tokenizer.chatTemplate);
  });

  test("a template of its own file comes before that of the config; special_tokens_map.json fills in", async () => {
    const loaded = await loadTokenizer(
      folder("files", {
        "tokenizer.json": JSON.stringify(byteLevelJson()),
        "tokenizer_config.json": JSON.stringify({ chat_template: "old" }),
        "special_tokens_map.json": JSON.stringify({ eos_token: { content: "<end>" } }),
        "chat_template.jinja": "new",
      }),
    );
    expect(loaded.chatTemplate).toBe("new");
    expect(loaded.specialTokens).toEqual({ eos: { id: 300, text: "<end>" } });
  });

  test("says what is missing or broken", async () => {
    await expect(loadTokenizer(join(root, "nowhere"))).rejects.toThrow("tokenizer-missing");
    const empty = folder("spm", { "tokenizer.model": "" });
    await expect(loadTokenizer(empty)).rejects.toThrow("with tokenizer.model, expected a tokenizer.json in it");
    const pointer = folder("pointer", { "tokenizer.json": "version https://git-lfs.github.com/spec/v1" });
    await expect(loadTokenizer(pointer)).rejects.toThrow(
      /tokenizer-unreadable: got tokenizer.json: .*expected a JSON object/,
    );
  });
});

describe("tokenizerFromJson", () => {
  test("refuses what it cannot tokenize the same way", () => {
    const scripts = { pre_tokenizer: { type: "Sequence", pretokenizers: [{ type: "UnicodeScripts" }] } };
    expect(() => tokenizerFromJson(byteLevelJson(scripts))).toThrow(
      'tokenizer-unsupported: got pre_tokenizer of type "UnicodeScripts"',
    );
    expect(() => tokenizerFromJson(byteLevelJson({}, { continuing_subword_prefix: "##" }))).toThrow(
      "tokenizer-unsupported",
    );
    expect(() => tokenizerFromJson({ model: { type: "BPE" } })).toThrow(
      'tokenizer-unsupported: got model of type "BPE" with vocab',
    );
    expect(() => tokenizerFromJson(null)).toThrow("tokenizer-unsupported: got tokenizer.json");
  });

  test("refuses a role whose token is nowhere", () => {
    expect(() => tokenizerFromJson(byteLevelJson(), { eos_token: "<nope>" })).toThrow(
      'special-token-unknown: got eos_token "<nope>" in tokenizer_config.json',
    );
  });

  test("takes tokens that only the config lists, and makes roles special", () => {
    const config = { added_tokens_decoder: { "302": { content: "<late>", special: true } }, pad_token: "<tool>" };
    const tokenizer = tokenizerFromJson(byteLevelJson(), config);
    expect(Array.from(tokenizer.encode("<late>", { special: true }))).toEqual([302]);
    expect(tokenizer.vocabularySize).toBe(303);
    expect(tokenizer.decode([301])).toBe("");
  });

  test("merges and whole-word vocabulary entries never make a control token of plain text", () => {
    const vocab = { ...bytes, "<e": 256, "<en": 257, "<end": 258, "<end>": 300 };
    const merges = ["< e", "<e n", "<en d", "<end >"];
    for (const ignoreMerges of [false, true]) {
      const changes = { pre_tokenizer: { ...byteLevel, use_regex: false } };
      const tokenizer = tokenizerFromJson(byteLevelJson(changes, { vocab, merges, ignore_merges: ignoreMerges }));
      expect(Array.from(tokenizer.encode("<end>"))).toEqual([258, 62]);
      expect(Array.from(tokenizer.encode("<end>", { special: true }))).toEqual([300]);
    }
  });

  test("a Unigram model does not find control tokens in text, and can fall back to bytes", () => {
    const json = {
      added_tokens: [added(1, "</s>")],
      normalizer: null,
      pre_tokenizer: { type: "Metaspace", replacement: "▁", prepend_scheme: "never", split: true },
      decoder: {
        type: "Sequence",
        decoders: [{ type: "ByteFallback" }, { type: "Metaspace", prepend_scheme: "never" }],
      },
      model: {
        type: "Unigram",
        unk_id: 0,
        byte_fallback: true,
        vocab: [
          ["<unk>", 0],
          ["</s>", 0],
          ["<", -3],
          ["/", -3],
          ["s", -3],
          [">", -3],
          ["▁", -2],
          ["<0xC3>", -9],
          ["<0xA9>", -9],
        ],
      },
    };
    const tokenizer = tokenizerFromJson(json, { unk_token: "<unk>", eos_token: "</s>" });
    expect(Array.from(tokenizer.encode("</s>"))).toEqual([2, 3, 4, 5]);
    expect(Array.from(tokenizer.encode("s</s>", { special: true }))).toEqual([4, 1]);
    expect(Array.from(tokenizer.encode("s é"))).toEqual([4, 6, 7, 8]);
    expect(tokenizer.decode([4, 6, 7, 8])).toBe("s é");
    expect(tokenizer.tokenBytes(7)).toEqual(Uint8Array.of(0xc3));
    expect(tokenizer.tokenBytes(6)).toEqual(Uint8Array.of(0x20));
  });

  test("added words and runs of spaces are ordinary text; lstrip tokens take the space before them", () => {
    const tokens = [
      added(300, "   ", { special: false }),
      added(301, "zebra", { special: false, single_word: true }),
      added(302, "<mask>", { lstrip: true }),
    ];
    const tokenizer = tokenizerFromJson(byteLevelJson({ added_tokens: tokens }));
    expect(Array.from(tokenizer.encode("zebra   a"))).toEqual([301, 300, 97]);
    expect(Array.from(tokenizer.encode("zebras"))).not.toContain(301);
    expect(Array.from(tokenizer.encode("a  <mask>", { special: true }))).toEqual([97, 302]);
    expect([...tokenizer.controlTokens.keys()]).toEqual(["<mask>"]);
  });

  test("a byte order mark is text, not white space", () => {
    const tokenizer = tokenizerFromJson(byteLevelJson());
    expect(tokenizer.decode(tokenizer.encode("\ufeffhel\ufeff"))).toBe("\ufeffhel\ufeff");
  });

  test("files() of a parsed pair make the tokenizer again", () => {
    const tokenizer = tokenizerFromJson(byteLevelJson(), { eos_token: "<end>", chat_template: "{{ 1 }}" });
    const copy = tokenizerFromFiles(tokenizer.files());
    expect(copy.specialTokens).toEqual(tokenizer.specialTokens);
    expect(copy.chatTemplate).toBe("{{ 1 }}");
  });
});
