import { defined } from "../../defined.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import { plain } from "../../policy/formats/plain.ts";
import { thinkAnswer } from "../../policy/formats/think-answer.ts";
import { makeScore } from "../../schema/score.ts";
import { generated } from "../../task/generated.ts";
import { defineEnv } from "../define-env.ts";
import type { Env } from "../env.ts";
import type { Style } from "./moves.ts";
import { formatRule, ragenSystem } from "./ragen-prompt.ts";

export interface BanditOptions {
  style: Style;
  /** What the low arm always pays. RAGEN's code says 0.1, its paper 0.15. */
  low: number;
  /** What the high arm pays, with `highProbability`; nothing otherwise. */
  high: number;
  highProbability: number;
  /** BanditRev: the names are swapped, so that the dull-sounding arm is the high one. */
  isReversed: boolean;
  /** Taken off for an answer that names no arm. */
  invalidPenalty: number;
  seed: number;
}

const knownBanditOptions: KnownOptions<BanditOptions> = {
  style: true,
  low: true,
  high: true,
  highProbability: true,
  isReversed: true,
  invalidPenalty: true,
  seed: true,
};

const defaults: BanditOptions = {
  style: "compact",
  low: 0.1,
  high: 1,
  highProbability: 0.25,
  isReversed: false,
  invalidPenalty: 0.1,
  seed: 0,
};

export interface BanditTask {
  readonly low: string;
  readonly high: string;
  /** In the order shown, which is random. */
  readonly names: readonly [string, string];
}

interface BanditState {
  pulled: string | undefined;
  paid: number;
}

/** The test split has names that training never shows: it measures generalization over their meaning. */
const arms: Readonly<Record<string, readonly [low: string, high: string]>> = {
  train: ["Phoenix", "Dragon"],
  test: ["Trader", "Librarian"],
};

/**
 * RAGEN's two arms: one turn, one arm. Success is choosing the high arm, whatever it paid. All attempts at a task share its
 * seed, so in a group the high arm pays in all attempts or in none; with advantages divided by the group's standard deviation
 * the low arm then has the higher reward in three groups of four.
 */
export function bandit(options: Partial<BanditOptions> = {}): Env<BanditTask, BanditState> {
  refuseUnknownOptions("bandit", options, knownBanditOptions);
  const { style, low, high, highProbability, isReversed, invalidPenalty, seed } = { ...defaults, ...options };
  const tasks = generated<BanditTask>(
    (rng, split) => {
      const [first, second] = arms[split];
      const [lowName, highName] = isReversed ? [second, first] : [first, second];
      return { low: lowName, high: highName, names: rng.next() < 0.5 ? [lowName, highName] : [highName, lowName] };
    },
    { name: isReversed ? "bandit-reversed" : "bandit", seed },
  );
  return defineEnv<BanditTask, BanditState>({
    name: isReversed ? "bandit-reversed" : "bandit",
    description: "Pull one of two arms: a small sure payment or a rare large one",
    tasks,
    ...defined({ system: style === "tags" ? ragenSystem : undefined }),
    start: ({ task }) => ({
      state: { pulled: undefined, paid: 0 },
      say: style === "tags" ? describe(task) : `${task.names.join(" or ")}?`,
    }),
    act({ task, state, answer, rng }) {
      state.pulled = task.names.find((name) => name.toLowerCase() === answer.trim().toLowerCase());
      if (state.pulled === undefined) return { reward: -invalidPenalty, done: true };
      state.paid = state.pulled === task.low ? low : rng.next() < highProbability ? high : 0;
      return { say: `${state.pulled}: ${state.paid} points`, done: true };
    },
    score: ({ task, state }) => makeScore({ outcome: state.paid }, state.pulled === task.high),
    expert: ({ task }) => task.high,
    actions: ({ task }) => task.names,
    limits: { turns: 1, turnTokens: style === "tags" ? 256 : 16 },
    format: style === "tags" ? thinkAnswer() : plain(),
  });
}

function describe({ names: [first, second] }: BanditTask): string {
  return [
    "You are playing a bandit game. Your goal is to earn as much as you can by choosing which arm to pull.",
    `1. There are two arms, named ${first} and ${second}.`,
    "2. Each arm has its own distribution of rewards, related to its name.",
    "3. Think about what each name stands for, and guess from it how that arm's rewards may behave.",
    "4. Then decide which arm gives more on average.",
    `Choose between ${first} and ${second}, and answer like <answer> ${first} </answer> or <answer> ${second} </answer>.`,
    formatRule,
  ].join("\n");
}
