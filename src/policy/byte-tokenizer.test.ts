import { describe, expect, test } from "vitest";
import { byteTokenizer } from "./byte-tokenizer.ts";
import { tokenizerContract } from "./tokenizer.contract.ts";

tokenizerContract("byte", () => byteTokenizer());
tokenizerContract("byte, own control tokens", () =>
  byteTokenizer({ special: ["<eos>", "<eos><eos>"], markup: ["[A]"], eos: "<eos>" }),
);

describe("byte tokenizer", () => {
  const tokenizer = byteTokenizer();

  test("a token is its byte; control tokens come after", () => {
    expect(Array.from(tokenizer.encode("Hié"))).toEqual([72, 105, 195, 169]);
    expect(tokenizer.vocabularySize).toBe(265);
    expect(tokenizer.specialTokens).toEqual({
      eos: { id: 258, text: "<|im_end|>" },
      pad: { id: 256, text: "<|pad|>" },
    });
  });

  test("decoding leaves special tokens out and writes markup", () => {
    const tokens = tokenizer.encode("<|im_start|>a<tool_call>b</tool_call><|im_end|>", { special: true });
    expect(tokens).toHaveLength(6);
    expect(tokenizer.decode(tokens)).toBe("a<tool_call>b</tool_call>");
  });

  test("half a character is a replacement character; its bytes are known all the same", () => {
    expect(tokenizer.decode([0xe2, 0x82])).toBe("\ufffd");
    expect(tokenizer.decode([0xe2, 258, 0x82], { special: true })).toBe("\ufffd<|im_end|>\ufffd");
    expect(tokenizer.tokenBytes(0xe2)).toEqual(Uint8Array.of(0xe2));
  });

  test("of control tokens that begin alike the longest is taken", () => {
    const two = byteTokenizer({ special: ["<eos>", "<eos><eos>"], markup: [] });
    expect(Array.from(two.encode("<eos><eos><eos>", { special: true }))).toEqual([257, 256]);
  });

  test("the default template is there when its tokens are", () => {
    expect(tokenizer.chatTemplate).toContain("<|im_start|>");
    expect(byteTokenizer({ special: ["<eos>"] }).chatTemplate).toBeUndefined();
    expect(byteTokenizer({ chatTemplate: "{{ 1 }}" }).files()["chat_template.jinja"]).toBe("{{ 1 }}");
  });

  test("wrong control tokens are refused", () => {
    expect(() => byteTokenizer({ special: ["<a>", "<a>"] })).toThrow('control-token-invalid: got "<a>"');
    expect(() => byteTokenizer({ special: ["x"] })).toThrow('control-token-invalid: got "x"');
    expect(() => byteTokenizer({ markup: ["word"] })).toThrow("A plain word as markup would turn ordinary text");
    expect(() => byteTokenizer({ special: ["<a>"], eos: "<b>" })).toThrow(
      'special-token-unknown: got eos "<b>", expected one of <a>',
    );
  });
});
