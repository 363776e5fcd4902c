import { expect, test } from "vitest";
import { byteTokenizer } from "./byte-tokenizer.ts";
import { tokenizerFromJson } from "./load-tokenizer.ts";
import { ownWords } from "./own-words.ts";

const special = (id: number, content: string, rstrip = false) => ({
  id,
  content,
  rstrip,
  special: true,
  single_word: false,
  lstrip: false,
  normalized: false,
});
/** Puts a space in front of a text, as SentencePiece does. */
const withSpaceInFront = tokenizerFromJson({
  added_tokens: [special(4, "<|swallows|>", true), special(5, "</s>")],
  pre_tokenizer: { type: "Metaspace", replacement: "▁", prepend_scheme: "first", split: true },
  decoder: { type: "Metaspace", replacement: "▁", prepend_scheme: "first" },
  model: { type: "BPE", vocab: { "▁": 0, a: 1, b: 2, "▁a": 3 }, merges: ["▁ a"] },
});

test("words in the middle of a conversation get no space in front", () => {
  const { encode, decode } = ownWords(withSpaceInFront);
  expect(Array.from(withSpaceInFront.encode("ab"))).toEqual([3, 2]);
  expect(Array.from(encode("ab"))).toEqual([1, 2]);
  expect(Array.from(encode(" ab"))).toEqual([3, 2]);
  for (const text of ["ab", " ab", "  a b "]) expect(decode(encode(text))).toBe(text);
  expect(Array.from(ownWords(withSpaceInFront).encodeRendered("ab</s>a", []))).toEqual([1, 2, 5, 1]);
});

test("markup is a token, the text of a turn token is not, and a stray turn token is not read", () => {
  const tokenizer = byteTokenizer();
  const { encode, decode } = ownWords(tokenizer);
  const id = (text: string) => tokenizer.controlTokens.get(text)!;
  expect(Array.from(encode("<think>"))).toEqual([id("<think>")]);
  expect(Array.from(encode("<|im_end|>"))).toEqual(Array.from(tokenizer.encode("<|im_end|>")));
  expect(decode(Int32Array.of(97, id("<|im_start|>"), 98, id("<|im_end|>")))).toBe("ab");
});

test("a tokenizer without control tokens has words all the same", () => {
  const { encode, decode } = ownWords(byteTokenizer({ special: [], markup: [] }));
  expect(Array.from(encode("Hi"))).toEqual([72, 105]);
  expect(decode(Int32Array.of(72, 105))).toBe("Hi");
});
