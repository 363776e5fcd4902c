import { makeScore } from "../schema/score.ts";
import { agentR1 } from "./agent-r1.ts";
import { alphaSchedule } from "./alpha-schedule.ts";
import { gated, mapTotal, weighted } from "./combinators.ts";
import { composite } from "./composite.ts";
import { countdownReward } from "./countdown-reward.ts";
import { ensemble } from "./ensemble.ts";
import { exactMatch } from "./exact-match.ts";
import { f1 } from "./f1.ts";
import { format } from "./format.ts";
import { linearLength, sigmoidLength, softOverlong } from "./length.ts";
import { math } from "./math.ts";
import { pointInBox } from "./point-in-box.ts";
import { ragenFormat } from "./ragen-format.ts";
import { reSearch } from "./re-search.ts";
import { reft } from "./reft.ts";
import { rewardContract } from "./reward.contract.ts";
import type { Reward, ScoredEpisode } from "./reward.ts";
import { ruleFirst } from "./rule-first.ts";
import { searchR1, searchR1Format } from "./search-r1.ts";
import { staged } from "./staged.ts";
import { subgoals } from "./subgoals.ts";
import { substringMatch } from "./substring-match.ts";
import { sweRl } from "./swe-rl.ts";
import { tauBench } from "./tau-bench.ts";
import { fakeCall, fakeEpisode } from "./testing/fake-episode.ts";
import { toolRl } from "./tool-rl.ts";
import { toolShaping } from "./tool-shaping.ts";
import { uiR1 } from "./ui-r1.ts";
import { webArena } from "./web-arena.ts";
import { webShopReward } from "./web-shop-reward.ts";

// Every reward keeps the contract; what each is worth is in its own test file. The judge's is in judge.test.ts, that of
// codeTests, which starts a process for each episode, in code-tests.slow.test.ts.

const task = { answer: "4" };
type Task = typeof task;
const gold = ({ answer }: Task) => answer;

const searched = fakeEpisode(task, [
  { text: "<think>?</think><search>two and two</search>", observation: "four is 4", calls: [fakeCall("search", {})] },
  "<think>so</think><answer>\\boxed{4}</answer>",
]);
const answered = fakeEpisode(task, ["<think>2+2</think><answer>4</answer>"], { answer: "4" });
const cutOff = fakeEpisode(task, ["<think>2+"], { answer: "", stop: "max-tokens" });
const episodes: readonly ScoredEpisode<Task>[] = [searched, answered, cutOff];

const product = {
  query: "shirt",
  categories: ["Men", "Shirts"],
  nouns: ["shirt"],
  title: "Red shirt",
  attributes: ["cotton"],
  bulletPoints: [],
  description: "",
};

const rewards: Readonly<Record<string, () => Reward<Task>>> = {
  exactMatch: () => exactMatch(gold),
  substringMatch: () => substringMatch(gold),
  f1: () => f1(gold),
  math: () => math(gold),
  reft: () => reft(gold),
  webArena: () => webArena({ answers: ({ answer }) => ({ exact_match: answer, required_values: [">= 3"] }) }),
  tauBench: () =>
    tauBench({ database: () => ({ a: 1 }), goldDatabase: () => ({ a: 1 }), requiredOutputs: () => ["4"] }),
  pointInBox: () => pointInBox({ box: () => [0, 0, 5, 5] }),
  uiR1: () => uiR1(() => ({ action: "click", box: [0, 0, 5, 5] })),
  toolRl: () =>
    toolRl(() => ({ calls: [{ name: "add", parameters: { a: 2 } }], responds: false }), { length: "fixed" }),
  "toolRl smooth": () => toolRl(() => ({ calls: [], responds: true }), { scale: "smooth", step: () => 75 }),
  sweRl: () => sweRl(() => ({ files: { a: "x\ny\n" }, goldFiles: { a: "x\nz\n" } })),
  reSearch: () => reSearch(gold),
  searchR1: () => searchR1(gold),
  searchR1Format: () => searchR1Format(gold),
  agentR1: () => agentR1(gold),
  ragenFormat: () => ragenFormat(),
  "countdown, TinyZero": () => countdownReward(() => ({ numbers: [2, 2], target: 4 })),
  "countdown, RAGEN": () => countdownReward(() => ({ numbers: [2, 2], target: 4 }), { rule: "ragen" }),
  webShop: () =>
    webShopReward({
      purchase: ({ answer }) => ({ product, options: { size: answer }, price: 10 }),
      goal: () => ({ ...product, options: ["xl"], priceUpper: 20 }),
    }),
  format: () => format(["think", "answer"]),
  linearLength: () => linearLength({ unit: "characters", target: 10, weight: 0.01 }),
  sigmoidLength: () => sigmoidLength(exactMatch(gold), { unit: "turns", target: 2, temperature: 1 }),
  softOverlong: () => softOverlong({ unit: "characters", maxLength: 40, cacheLength: 20 }),
  toolShaping: () => toolShaping({ relevant: () => ["search"] }),
  staged: () => staged({ answer: f1(gold) }),
  alphaSchedule: () =>
    alphaSchedule({ outcome: exactMatch(gold), steps: ({ turns }) => turns.map(() => 0.5), progress: () => 0.5 }),
  subgoals: () =>
    subgoals({ goals: { seen: 0.2, done: 0.3 }, reached: ({ turns }) => turns.map(() => new Set(["seen"])) }),
  composite: () => composite({ outcome: exactMatch(gold), format: weighted(-0.3, format(["think", "answer"])) }),
  gated: () => gated(format(["think", "answer"]), weighted(-2, exactMatch(gold))),
  mapTotal: () => mapTotal(agentR1(gold), (total) => Math.max(0, total), [0, 1]),
  ensemble: () => ensemble([exactMatch(gold), f1(gold), agentR1(gold)], { aggregate: "mean-variance", lambda: 0.5 }),
  ruleFirst: () => ruleFirst(({ answer }) => (answer === "" ? makeScore({ outcome: 0 }) : undefined), f1(gold)),
};

for (const [name, make] of Object.entries(rewards)) rewardContract(name, make, episodes);
