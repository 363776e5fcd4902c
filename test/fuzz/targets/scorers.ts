import type { Rng } from "../../../src/random.ts";
import { builtinRewards } from "../../../src/reward/builtin-rewards.ts";
import type { Reward } from "../../../src/reward/reward.ts";
import { fakeCall, fakeEpisode } from "../../../src/reward/testing/fake-episode.ts";
import { readArithmetic } from "../../../src/scorer/arithmetic.ts";
import { fuzzyRatio, tokenSetRatio } from "../../../src/scorer/fuzzy-ratio.ts";
import { mathEqual } from "../../../src/scorer/math-answer.ts";
import { textRatio } from "../../../src/scorer/sequence-matcher.ts";
import { patchSimilarity } from "../../../src/scorer/swe-rl.ts";
import { unifiedDiff } from "../../../src/scorer/unified-diff.ts";
import { decodeEntities, stringMatch, urlMatch, wordTokens } from "../../../src/scorer/web-arena-checks.ts";
import { cut, hostileText, jsonObject, pick } from "../hostile-text.ts";
import { allowRefusalAsync, check } from "../refusal.ts";
import type { FuzzTarget } from "../target.ts";

const file = "import os\n\ndef f(a, b):\n    return a + b\n\nx = 1\nx = 1\n";

const task = {
  answer: "42",
  numbers: [3, 5, 7],
  target: 22,
  calls: [{ name: "search", parameters: { query: "tea", top: 3 } }],
  responds: false,
  files: { "a.py": file },
  goldFiles: { "a.py": file.replace("a + b", "a - b") },
  action: "click",
  box: [10, 10, 50, 50],
};

/** Texts that are nearly right for some reward, to be spoiled. */
const nearlyRight = [
  "<think>why</think><answer>42</answer>",
  "<think>a</think><search>tea</search><information>green</information><think>b</think><answer>\\boxed{42}</answer>",
  "<answer>3 * 5 + 7</answer>",
  '<think>a</think><tool_call>\n{"name": "search", "parameters": {"query": "tea", "top": 3}}\n</tool_call>',
  "<think>a</think><solution>```python\n### a.py\n<<<<<<< SEARCH\n    return a + b\n=======\n    return a - b\n>>>>>>> REPLACE\n```</solution>",
  "<think>a</think><answer>[{'action': 'click', 'point': [20, 20], 'input_text': 'no input text'}]</answer>",
  "<think>a</think><answer>Up || Down || Left</answer>",
  "The result is \\boxed{\\frac{84}{2}}",
];

// tests of code start a process for each episode: attacks on them have tests of their own
const left = new Set(["code-tests", "code-rl"]);
const rewards: Readonly<Record<string, () => Reward>> = Object.fromEntries(
  Object.entries(builtinRewards)
    .filter(([name]) => !left.has(name))
    .map(([name, { make }]) => [name, make]),
);

interface RewardInput {
  readonly reward: string;
  readonly turns: readonly {
    readonly text: string;
    readonly observation: string;
    readonly arguments: Record<string, unknown>;
  }[];
}

/** Rewards: finite, within their range, adding up, whatever was said. */
export const rewardsTarget: FuzzTarget<RewardInput> = {
  name: "rewards",
  generate(rng) {
    const turns = Array.from({ length: rng.integer(4) }, () => {
      return { text: said(rng), observation: hostileText(rng, 2_000), arguments: jsonObject(rng, 20) };
    });
    return { reward: pick(rng, Object.keys(rewards)), turns };
  },
  async run({ reward: name, turns }) {
    const reward = rewards[name]();
    const episode = fakeEpisode(
      task,
      turns.map(({ text, observation, arguments: given }) => {
        return { text, observation, calls: [fakeCall(text.slice(0, 50), given)] };
      }),
    );
    const { total, parts } = await reward(episode);
    const sum = Object.values(parts).reduce((all, part) => all + part, 0);
    check(
      Number.isFinite(total) && Math.abs(sum - total) < 1e-6,
      `parts add up to a finite total: ${JSON.stringify(parts)}`,
    );
    const [low, high] = reward.range ?? [0, 1];
    check(total >= low - 1e-9 && total <= high + 1e-9, `a total within [${low}, ${high}]: ${total}`);
  },
};

function said(rng: Rng): string {
  if (rng.next() < 0.4) return hostileText(rng);
  let text = pick(rng, nearlyRight);
  for (let times = rng.integer(4); times > 0; times--) text = cut(rng, text);
  return rng.next() < 0.2 ? text.replace(/42|tea|a \+ b|3/, () => hostileText(rng, 20_000)) : text;
}

interface TextsInput {
  readonly scorer: string;
  readonly a: string;
  readonly b: string;
}

const scorers: Readonly<Record<string, (a: string, b: string) => unknown>> = {
  textRatio,
  fuzzyRatio,
  tokenSetRatio,
  mathEqual,
  arithmetic: (a) => readArithmetic(a)?.value ?? 0,
  unifiedDiff: (a, b) => unifiedDiff(a.split("\n"), b.split("\n")),
  patchSimilarity: (a, b) => patchSimilarity({ f: a }, { f: b }, { f: a + b }).reward,
  stringMatch: (a, b) => stringMatch(a, { must_include: [b], exact_match: b }),
  urlMatch: (a, b) => urlMatch(a, b),
  wordTokens: (a) => wordTokens(a).length,
  decodeEntities: (a) => decodeEntities(a).length,
};

/** Scorers that compare two texts: in bounded time, a number where they give one. */
export const scorersTarget: FuzzTarget<TextsInput> = {
  name: "scorers",
  generate(rng) {
    const a = hostileText(rng);
    return { scorer: pick(rng, Object.keys(scorers)), a, b: rng.next() < 0.5 ? cut(rng, a) : hostileText(rng) };
  },
  async run({ scorer, a, b }) {
    // too much to compare is refused by name
    const value = await allowRefusalAsync(async () => scorers[scorer](a, b));
    check(typeof value !== "number" || !Number.isNaN(value), "a score is a number");
  },
};
