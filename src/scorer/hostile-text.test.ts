import { describe, expect, test } from "vitest";
import { bounds } from "../bounds.ts";
import { createRng } from "../random.ts";
import { agentR1Score } from "./agent-r1.ts";
import { countdownScore, tinyZeroScore } from "./countdown.ts";
import { fuzzyRatio, tokenSetRatio } from "./fuzzy-ratio.ts";
import { mathEqual, mathScore, normalizeMathAnswer, reftScore } from "./math-answer.ts";
import { exactMatchScore, substringMatchScore, tokenF1 } from "./normalize-answer.ts";
import { parseRagenActions } from "./ragen.ts";
import { reSearchScore } from "./re-search.ts";
import { searchR1FormatScore } from "./search-r1.ts";
import { Budget, matchingBlocks, textRatio } from "./sequence-matcher.ts";
import { editBlocks, patchSimilarity, sweRlScore } from "./swe-rl.ts";
import { toolRlScore } from "./toolrl.ts";
import { uiR1Score } from "./ui-r1.ts";
import { unifiedDiff } from "./unified-diff.ts";
import { htmlMatch, stringMatch, urlMatch } from "./web-arena-checks.ts";

const rng = createRng(5);
const block = (search: string, replace: string) =>
  `\`\`\`\n### a.py\n<<<<<<< SEARCH\n${search}\n=======\n${replace}\n>>>>>>> REPLACE\n\`\`\`\n`;
const solution = (blocks: string) => `<think>so</think><solution>${blocks}</solution>`;
const tenLines = Array.from({ length: 10 }, () => "x").join("\n");

describe("SWE-RL", () => {
  const task = { files: { "a.py": "x" }, goldFiles: { "a.py": "y" } };

  test("edits that multiply a file are refused before they are made", () => {
    expect(sweRlScore(solution(block("x", tenLines).repeat(6)), task)).toEqual({
      reward: -1,
      error: "the edits make files of more than 1000000 characters",
      similarities: {},
    });
  });

  test("a file of 100,000 lines is compared, and many lines that repeat are worth 0 with the reason", () => {
    const output = solution(block("x", tenLines).repeat(5));
    expect(sweRlScore(output, task)).toMatchObject({ error: null });
    const long = { ...task, goldFiles: { "a.py": "x\n".repeat(90_000) } };
    const given = { reward: 0, error: "the patches take too long to compare", similarities: {} };
    expect(sweRlScore(output, long)).toEqual(given);
    const [ours, gold] = [`a${"b".repeat(60_000)}`, `${"b".repeat(60_000)}c`];
    expect(patchSimilarity({ f: "" }, { f: gold }, { f: ours })).toEqual(given);
  });

  test("edits of a large file back and forth are ended", () => {
    const blocks = Array.from({ length: 200 }, (_, i) => (i % 2 === 0 ? block("x", "y") : block("y", "x"))).join("");
    const large = { files: { "a.py": "x\n".repeat(400_000) }, goldFiles: {} };
    expect(sweRlScore(solution(blocks), large)).toMatchObject({ error: "the patches take too long to compare" });
  });

  test("blocks are those of the released expression", () => {
    const released = /```[^\n]*?\n### ([^\n]*)\n<<<<<<< SEARCH\n([\s\S]*?)\n=======\n([\s\S]*?)\n>>>>>>> REPLACE\n```/g;
    const pieces = ["```", "\n", "### ", "p", "\n<<<<<<< SEARCH\n", "\n=======\n", "\n>>>>>>> REPLACE\n```", "x"];
    pieces.push("```\n### q\n<<<<<<< SEARCH\n", "```py\n### \n<<<<<<< SEARCH\nx\n=======\n", block("x", "y"));
    let found = 0;
    for (let round = 0; round < 20_000; round++) {
      const text = Array.from({ length: 1 + rng.integer(9) }, () => pieces[rng.integer(pieces.length)]).join("");
      const expected = [...text.matchAll(released)].map(([, path, search, replace]) => ({ path, search, replace }));
      expect(editBlocks(text), JSON.stringify(text)).toEqual(expected);
      found += expected.length;
    }
    expect(found).toBeGreaterThan(5_000);
  });
});

describe("comparing", () => {
  test("is exact within its budget and refused beyond it", () => {
    const [a, b] = [[..."abcabba"], [..."cbabac"]];
    expect(matchingBlocks(a, b, { budget: new Budget(60) })).toEqual(matchingBlocks(a, b));
    expect(() => matchingBlocks(a, b, { budget: new Budget(10) })).toThrow("too-much-to-compare");
    expect(() => textRatio("a".repeat(40_000), `b${"a".repeat(40_000)}`)).toThrow("too-much-to-compare");
    const lines = Array.from({ length: 120_000 }, (_, i) => `${i % 110}`);
    expect(() => unifiedDiff(lines, lines.slice(1))).toThrow("too-much-to-compare");
  });

  test("a diff may have more lines than a call has arguments", () => {
    const lines = Array.from({ length: 300_000 }, (_, i) => `${i}`);
    expect(unifiedDiff([], lines)).toHaveLength(300_003);
  });

  test("words that would take too long have nothing in common", () => {
    const long = "a".repeat(bounds.comparisons / 1_000);
    expect(fuzzyRatio(long, "a".repeat(1_001))).toBe(0);
    expect(tokenSetRatio(long, "a".repeat(1_001))).toBe(0);
    expect(fuzzyRatio("a".repeat(2_000), "a".repeat(1_000))).toBe(67);
  });
});

test("published formats are those of the released expressions", () => {
  const call = /^<think>.*?<\/think>.*?<tool_call>.*?<\/tool_call>$/s;
  const answer = /^<think>.*?<\/think>.*?<answer>.*?<\/answer>$/s;
  const screen = /^<think>.*?<\/think>\s*<answer>.*?<\/answer>$/s;
  const pieces = ["<think>", "</think>", "<tool_call>", "</tool_call>", "<answer>", "</answer>", " ", "\n", "x"];
  let matched = 0;
  for (let round = 0; round < 20_000; round++) {
    const text = `<think>${Array.from({ length: rng.integer(8) }, () => pieces[rng.integer(pieces.length)]).join("")}`;
    const { format } = agentR1Score([text, text], "gold", "published");
    expect(format, text).toBe(0.5 * (Number(call.test(text)) + Number(answer.test(text))));
    expect(uiR1Score(text, { action: "click" }, { tags: "published" }).format, text).toBe(Number(screen.test(text)));
    matched += Number(format > 0);
  }
  expect(matched).toBeGreaterThan(100);
});

describe("a hostile text of 200,000 characters is scored in time", () => {
  const long = (piece: string) => piece.repeat(Math.ceil(200_000 / piece.length));
  const texts = [
    ...[
      "a",
      " ",
      "1",
      ".",
      "(",
      "[",
      "{",
      '"',
      "'",
      "\\",
      "<",
      "`",
      "\n",
      "-",
      "1,",
      "123,",
      "a-",
      "n't",
      "&#1",
      "?a=b&",
    ],
    ...[
      "<think>",
      "<think></think>",
      "<think></think><answer>",
      "<tool_call></tool_call>",
      "<search></search><result>",
    ],
    ...["\\boxed{", "\\boxed ", "\\frac{", "\\text{", "1 square ", "[1, ", "'action': ", "||", "{name ", "\ufffd"],
  ].flatMap((piece) => [long(piece), `${long(piece)}x`, `<think>x</think><answer>${long(piece)}</answer>`]);
  texts.push(
    `.${long("0")}1`,
    `1.${long("0")}x`,
    `0.${long("1")}x`,
    `1${long(" ")}x`,
    `<think>${long("</think><tool_call></tool_call> ")}x`,
  );
  texts.push(solution(long("```\n### p\n<<<<<<< SEARCH\n") + long("\n=======\n")), solution(long("`")));
  const gold = "a gold answer";
  const scorers: Readonly<Record<string, (text: string) => unknown>> = {
    agentR1: (text) => agentR1Score([text, text], gold, "published"),
    agentR1Strict: (text) => agentR1Score([text, text], gold),
    countdown: (text) => countdownScore(text, { numbers: [1, 2], target: 3 }, "ragen"),
    tinyZero: (text) => tinyZeroScore(text, { numbers: [1, 2], target: 3 }),
    tokenSetRatio: (text) => tokenSetRatio(text, gold),
    math: (text) => mathScore(text, "\\frac{1}{2}"),
    boxedMath: (text) => mathScore(`\\boxed{${text}}`, "5"),
    mathEqual: (text) => mathEqual(text, "1,2,3"),
    normalizeMathAnswer,
    reft: (text) => reftScore(text, "5"),
    exactMatch: (text) => exactMatchScore(text, gold),
    substringMatch: (text) => substringMatchScore(text, gold),
    tokenF1: (text) => tokenF1(text, gold),
    ragen: parseRagenActions,
    reSearch: (text) => reSearchScore(text, gold, { tags: "published" }),
    searchR1: (text) => searchR1FormatScore(text, gold),
    sweRl: (text) => sweRlScore(text, { files: { p: "x" }, goldFiles: { p: "y" } }),
    toolRl: (text) => toolRlScore(text, { calls: [{ name: "f", parameters: { a: 1 } }], responds: true }),
    uiR1: (text) => uiR1Score(text, { action: "click" }, { tags: "published" }),
    html: (text) =>
      htmlMatch([
        { url: "", locator: "", content: text, required_contents: { must_include: ["x y"], exact_match: "b" } },
      ]),
    stringMatch: (text) => stringMatch(text, { required_values: [">= 3"], must_include: ["a"] }),
    url: (text) => urlMatch(text, "http://a.b/c?d=e"),
  };
  // what takes quadratic time takes minutes
  test.each(Object.keys(scorers))("%s", { timeout: 30_000 }, async (name) => {
    for (const text of texts) await scorers[name](text);
  });
});
