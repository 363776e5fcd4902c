import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import { plain } from "../../policy/formats/plain.ts";
import type { Rng } from "../../random.ts";
import { readArithmetic } from "../../scorer/arithmetic.ts";
import { generated } from "../../task/generated.ts";
import { defineEnv } from "../define-env.ts";
import type { Env } from "../env.ts";
import { checkWholeOptions } from "./check-options.ts";

export interface SumsOptions {
  /** Numbers of a question, at most; there are two at least. */
  terms: number;
  seed: number;
}

const knownSumsOptions: KnownOptions<SumsOptions> = { terms: true, seed: true };
const defaults: SumsOptions = { terms: 3, seed: 0 };

export interface SumsTask {
  /** Digits with `+` and `-` between them: `3+8-2`. */
  readonly question: string;
  /** What counts as right, where that is not the value itself: a label that somebody gave. */
  readonly label?: string;
}

/** Sums of a few digits: the answer is the value. A task with a `label` is scored by that instead. */
export function sums(options: Partial<SumsOptions> = {}): Env<SumsTask, undefined> {
  refuseUnknownOptions("sums", options, knownSumsOptions);
  const { terms, seed } = { ...defaults, ...options };
  checkWholeOptions("sums", { terms: [terms, 2, 8] });
  return defineEnv<SumsTask, undefined>({
    name: "sums",
    description: `Sums of two to ${terms} digits`,
    tasks: generated((rng) => ({ question: drawSum(rng, terms) }), { name: `sums-${terms}`, seed }),
    start: ({ task: { question } }) => ({ state: undefined, say: `${question}=` }),
    score: ({ task, answer }) => (answer.trim() === (task.label ?? sumOf(task.question)) ? 1 : 0),
    expert: ({ task: { question } }) => sumOf(question),
    actions: ({ rng }) => Array.from({ length: 8 }, () => sumOf(drawSum(rng, terms))),
    limits: { turns: 1, turnTokens: 6 },
    format: plain(),
  });
}

export interface SumQuestionsOptions extends SumsOptions {
  /** What a question is worth that can be asked. Those that cannot lose 1. */
  worth: (question: string, signal: AbortSignal) => number | Promise<number>;
}

const knownSumQuestionsOptions: KnownOptions<SumQuestionsOptions> = { ...knownSumsOptions, worth: true };

/** The other side of `sums`: the policy asks a question, and is paid what it is worth. A challenger in self-play. */
export function sumQuestions(
  options: Pick<SumQuestionsOptions, "worth"> & Partial<SumQuestionsOptions>,
): Env<null, undefined> {
  refuseUnknownOptions("sumQuestions", options, knownSumQuestionsOptions);
  const { terms, seed, worth } = { ...defaults, ...options };
  checkWholeOptions("sum-questions", { terms: [terms, 2, 8] });
  return defineEnv<null, undefined>({
    name: "sum-questions",
    description: `Asks for sums of two to ${terms} digits`,
    tasks: generated(() => null, { name: `sum-questions-${terms}`, seed }),
    start: () => ({ state: undefined, say: "?" }),
    async score({ answer, signal }) {
      const question = readQuestion(answer, terms);
      if (question === undefined) return { total: -1, parts: { valid: 0 }, success: false };
      const value = await worth(question, signal);
      return { total: value, parts: { worth: value }, success: true };
    },
    expert: ({ rng }) => drawSum(rng, terms),
    actions: ({ rng }) => Array.from({ length: 8 }, () => drawSum(rng, terms)),
    limits: { turns: 1, turnTokens: 2 * terms + 1 },
    format: plain(),
  });
}

/** What was asked, where it is a question that `sums` could ask. */
export function readQuestion(text: string, terms = defaults.terms): string | undefined {
  const question = text.trim();
  const isSum = /^\d([+-]\d)+$/.test(question);
  return isSum && question.length <= 2 * terms - 1 ? question : undefined;
}

function drawSum(rng: Rng, terms: number): string {
  const count = 2 + rng.integer(terms - 1);
  const more = Array.from({ length: count - 1 }, () => `${"+-"[rng.integer(2)]}${rng.integer(10)}`);
  return `${rng.integer(10)}${more.join("")}`;
}

function sumOf(question: string): string {
  return String(readArithmetic(question)!.value);
}
