import { describe, expect, test } from "vitest";
import { byteCharacters } from "./byte-level.ts";
import { mergePairs } from "./merge-pairs.ts";
import { randomTexts, tokenizerContract } from "./tokenizer.contract.ts";
import { trainBpe } from "./train-bpe.ts";

const texts = ["the cat sat on the mat, the cat's hat", "there is the other theatre 2024", ...randomTexts(3, 80)];

tokenizerContract("trained BPE", () => trainBpe({ texts, vocabularySize: 420 }));

describe("trainBpe", () => {
  test("learns what is frequent", () => {
    const tokenizer = trainBpe({ texts: ["at the cat and at the hat and at"], vocabularySize: 275 });
    expect(tokenizer.encode(" the")).toHaveLength(1);
    expect(tokenizer.decode([256])).toBe("at");
    expect(tokenizer.encode("<|im_end|>", { special: true })).toHaveLength(1);
  });

  test("the same texts give the same files", () => {
    const first = trainBpe({ texts, vocabularySize: 400 }).files();
    expect(trainBpe({ texts: texts.values(), vocabularySize: 400 }).files()).toEqual(first);
  });

  test("a text that holds control tokens teaches none of them", () => {
    const tokenizer = trainBpe({ texts: ["<|im_end|>".repeat(50), "<think> <think>"], vocabularySize: 300 });
    for (const id of tokenizer.encode("<|im_end|><think>"))
      expect([...tokenizer.controlTokens.values()]).not.toContain(id);
  });

  test("stays small where nothing repeats", () => {
    expect(trainBpe({ texts: ["abc"], vocabularySize: 1000 }).vocabularySize).toBe(265);
  });

  test("refuses a vocabulary without room for the bytes", () => {
    expect(() => trainBpe({ texts, vocabularySize: 264 })).toThrow(
      "vocabulary-too-small: got vocabularySize 264, expected an integer of at least 265",
    );
  });
});

describe("mergePairs", () => {
  const alphabet = byteCharacters.slice(0, 128);
  const bytes = (word: string) => Array.from(word, (character) => character.charCodeAt(0));

  test("of equally frequent pairs the one with smaller ids comes first", () => {
    const { merges } = mergePairs([bytes("zy"), bytes("ab")], [3, 3], { alphabet, vocabularySize: 130 });
    expect(merges).toEqual([
      ["a", "b"],
      ["z", "y"],
    ]);
  });

  test("agrees with counting everything again after every merge", () => {
    const random = randomTexts(5, 60).map((text) => text.replace(/[^a-e]/g, "") + "abab".slice(text.length % 4));
    const words = [...new Set([...random, "aaaa", "aaaaa", "aaaaaaa", "baaab", "ababab"])].map(bytes);
    const counts = words.map((word, index) => 1 + ((word.length * 7 + index) % 5));
    const options = { alphabet, vocabularySize: 160 };
    expect(mergePairs(words, counts, options)).toEqual(countAgain(words, counts, options));
  });
});

/** The definition, slowly. */
function countAgain(
  words: number[][],
  counts: number[],
  options: { alphabet: readonly string[]; vocabularySize: number },
) {
  const tokens = [...options.alphabet];
  const merges: string[][] = [];
  let current = words;
  while (tokens.length < options.vocabularySize) {
    const pairs = new Map<string, number>();
    current.forEach((word, index) => {
      for (let at = 1; at < word.length; at++) {
        const key = `${word[at - 1]} ${word[at]}`;
        pairs.set(key, (pairs.get(key) ?? 0) + counts[index]);
      }
    });
    const ranked = [...pairs].map(([key, count]) => ({ pair: key.split(" ").map(Number), count }));
    ranked.sort((a, b) => b.count - a.count || a.pair[0] - b.pair[0] || a.pair[1] - b.pair[1]);
    const best = ranked[0];
    if (best === undefined || best.count < 2) break;
    const [left, right] = best.pair.map((id) => tokens[id]) as [string, string];
    if (!tokens.includes(left + right)) tokens.push(left + right);
    if (!merges.some(([a, b]) => a === left && b === right)) merges.push([left, right]);
    const id = tokens.indexOf(left + right);
    current = current.map((word) => {
      const merged: number[] = [];
      for (let at = 0; at < word.length; at++) {
        const matches = word[at] === best.pair[0] && word[at + 1] === best.pair[1];
        merged.push(matches ? id : word[at]);
        if (matches) at++;
      }
      return merged;
    });
  }
  return { tokens, merges };
}
