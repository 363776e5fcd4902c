import { describe, expect, test } from "vitest";
import { LudusError } from "../errors.ts";
import {
  decodeEntities,
  type FuzzyQuestion,
  htmlMatch,
  type ReferenceAnswers,
  stringMatch,
  urlMatch,
  wordTokens,
} from "./web-arena-checks.ts";

describe("string_match", () => {
  test.each<[string, ReferenceAnswers, number]>([
    ["  'Hello' ", { exact_match: "hello" }, 1],
    ["hello there", { exact_match: "hello" }, 0],
    ["b", { exact_match: "a |OR| b" }, 1],
    ["there are 10 of them", { must_include: ["0"] }, 0],
    ["there are 0 of them", { must_include: ["0"] }, 1],
    ["from New York City to LA", { must_include: ["new york", "LA"] }, 1],
    ["from New York", { must_include: ["new york", "LA"] }, 0],
    ["cats", { must_include: ["dog |OR| cats"] }, 1],
    ["cats and dogs", { must_exclude: ["cat"] }, 1],
    ["cats and dogs", { must_exclude: ["dogs"] }, 0],
    ["the blue one", { one_of: ["red", "blue"] }, 1],
    ["the bluest one", { one_of: ["red", "blue"] }, 1],
    ["the green one", { one_of: ["red", "blue"] }, 0],
    ["1,250", { required_values: [">= 1000", "< 2000"] }, 1],
    ["1,250", { required_values: ["> 1250"] }, 0],
    ["7", { required_values: ["== 3 |OR| == 7"] }, 1],
    ["about 7", { required_values: ["> 1"] }, 0],
    ["7 apples", { must_include: ["apples"], must_exclude: ["apples"] }, 0],
  ])("%j against %j is %d", async (answer, reference, score) => {
    expect(await stringMatch(answer, reference)).toBe(score);
  });

  test("fuzzy matches multiply what the judge says", async () => {
    const asked: FuzzyQuestion[] = [];
    const judge = async (question: FuzzyQuestion) => {
      asked.push(question);
      return question.reference === "b" ? 0.5 : 1;
    };
    expect(await stringMatch("X", { fuzzy_match: ["a", "b"] }, { judge, intent: "i" })).toBe(0.5);
    expect(asked[0]).toEqual({ kind: "same-meaning", prediction: "x", reference: "a", intent: "i" });
    expect(await stringMatch("", { fuzzy_match: ["a"] }, { judge })).toBe(0);
    expect(asked).toHaveLength(2);
    expect(await stringMatch("X", { must_include: ["y"], fuzzy_match: ["a"] }, { judge })).toBe(0);
    expect(asked).toHaveLength(2);
  });

  test("N/A needs no judge where the answer is N/A", async () => {
    expect(await stringMatch("N/A", { fuzzy_match: "N/A" })).toBe(1);
    const judge = async ({ kind, reference }: FuzzyQuestion) => Number(kind === "unachievable" && reference === "why");
    expect(await stringMatch("no such page", { fuzzy_match: "N/A" }, { judge, note: "why" })).toBe(1);
    await expect(stringMatch("x", { fuzzy_match: ["a"] })).rejects.toThrow(LudusError);
  });

  test("an inequality that is none is the developer's mistake", async () => {
    await expect(stringMatch("7", { required_values: ["about 7"] })).rejects.toThrow(LudusError);
  });
});

describe("url_match", () => {
  const page = "http://shop.test/catalog/shoes/?color=red&size=9";
  test.each([
    ["http://shop.test/catalog/shoes", "GOLD in PRED", 1],
    ["shop.test/catalog", "GOLD in PRED", 1],
    ["http://shop.test/catalog/hats", "GOLD in PRED", 0],
    ["http://shop.test/hats |OR| http://shop.test/catalog", "GOLD in PRED", 1],
    ["http://shop.test/catalog?color=red", "GOLD in PRED", 1],
    ["http://shop.test/catalog?color=blue", "GOLD in PRED", 0],
    ["http://shop.test/catalog?color=blue |OR| http://shop.test/catalog?color=red", "GOLD in PRED", 1],
    [page, "EXACT", 1],
    [`x |OR| ${page}/`, "EXACT", 1],
    ["http://shop.test/catalog/shoes", "EXACT", 0],
  ] as const)("%s, %s: %d", (reference, rule, score) => expect(urlMatch(page, reference, rule)).toBe(score));

  test("slashes at the end do not count, and no text throws", () => {
    expect(urlMatch("http://a.test/b/", "http://a.test/b", "EXACT")).toBe(1);
    for (const text of ["", "://", "?", "%%%", "http://[", "a?b=%zz#c"]) expect([0, 1]).toContain(urlMatch(text, text));
  });
});

describe("program_html", () => {
  const target = (content: string, requiredContents: object) => ({
    url: "last",
    locator: "",
    content,
    required_contents: requiredContents,
  });
  test("every target must hold what it should", () => {
    expect(htmlMatch([target("<b>Tom &amp; Ann</b>", { must_include: ["tom & ann"] })])).toBe(1);
    expect(htmlMatch([target("Yes", { exact_match: "yes" }), target("5", { exact_match: "6" })])).toBe(0);
    expect(htmlMatch([target("total10", { must_include: ["x |OR| 10"] })])).toBe(1);
    expect(htmlMatch([target("", { must_include: ["a"] })])).toBe(0);
    expect(htmlMatch([])).toBe(1);
  });
});

test("words, numbers and signs", () => {
  expect(wordTokens("It's $1,000.50 (at 12:30), isn't it?")).toEqual([
    "It",
    "'s",
    "$",
    "1,000.50",
    "(",
    "at",
    "12:30",
    ")",
    ",",
    "is",
    "n't",
    "it",
    "?",
  ]);
  expect(wordTokens("a well-known end.")).toEqual(["a", "well-known", "end", "."]);
  expect(wordTokens("")).toEqual([]);
});

test("known and numbered entities are decoded, others stay", () => {
  expect(decodeEntities("a &amp; b &lt;c&gt; &#39;d&#x27; &quot;&nbsp;")).toBe("a & b <c> 'd' \"\u00a0");
  expect(decodeEntities("&bogus; & &#9999999; &amp")).toBe("&bogus; & &#9999999; &amp");
  // once only
  expect(decodeEntities("&amp;lt;")).toBe("&lt;");
});
