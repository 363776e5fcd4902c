import { defined } from "../../defined.ts";
import { LudusError } from "../../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import { plain } from "../../policy/formats/plain.ts";
import { thinkAnswer } from "../../policy/formats/think-answer.ts";
import type { Rng } from "../../random.ts";
import { countdownScore } from "../../scorer/countdown.ts";
import { generated } from "../../task/generated.ts";
import { defineEnv } from "../define-env.ts";
import type { Env } from "../env.ts";
import { checkWholeOptions } from "./check-options.ts";
import { joinAtRandom, type Operator, solveCountdown, workOut } from "./countdown-solver.ts";
import type { Style } from "./moves.ts";
import { formatRule, ragenSystem } from "./ragen-prompt.ts";

export interface CountdownOptions {
  /**
   * `compact`: the reply is the equation. `working`: the reply may have lines of working, its last line is the equation, and the expert
   * works out tasks of three numbers. `tags`: RAGEN's prompt and tags.
   */
  style: Style | "working";
  /** How many numbers a task has, each as likely. */
  counts: readonly number[];
  maxNumber: number;
  minTarget: number;
  maxTarget: number;
  /** What targets are made with. Answers may use all four. RAGEN keeps to `["+", "-"]`. */
  operators: readonly Operator[];
  /**
   * `tiny-zero`: 0 without an answer, 0.1 for any answer, 1 for the right one. `ragen`: 0 unless the numbers are the given
   * ones, 0.1 when they are, 1 for the right answer.
   */
  scoring: "tiny-zero" | "ragen";
  seed: number;
}

const knownCountdownOptions: KnownOptions<CountdownOptions> = {
  style: true,
  counts: true,
  maxNumber: true,
  minTarget: true,
  maxTarget: true,
  operators: true,
  scoring: true,
  seed: true,
};

const defaults: CountdownOptions = {
  style: "compact",
  counts: [3, 4],
  maxNumber: 99,
  minTarget: 10,
  maxTarget: 99,
  operators: ["+", "-", "*", "/"],
  scoring: "tiny-zero",
  seed: 0,
};

export interface CountdownTask {
  readonly numbers: readonly number[];
  readonly target: number;
}

/** Make the target out of all the numbers, each used once. One turn. Every task has a solution. */
export function countdown(options: Partial<CountdownOptions> = {}): Env<CountdownTask, undefined> {
  refuseUnknownOptions("countdown", options, knownCountdownOptions);
  const chosen = { ...defaults, ...options };
  const { style, scoring, seed } = chosen;
  checkOptions(chosen);
  return defineEnv<CountdownTask, undefined>({
    name: "countdown",
    description: "Make a target out of given numbers with + - * /, each number used once",
    tasks: generated((rng) => makeTask(rng, chosen), {
      name: "countdown",
      seed,
      // 3 + 5 and 5 + 3 are the same task
      key: ({ numbers, target }) => `${numbers.toSorted((a, b) => a - b).join(" ")} = ${target}`,
    }),
    ...defined({ system: style === "tags" ? ragenSystem : undefined }),
    start: ({ task }) => ({ state: undefined, say: style === "tags" ? describe(task) : shorten(task) }),
    score({ task, answer }) {
      const equation = style === "working" ? answer.trim().split("\n").at(-1) : answer;
      return equation?.trim() ? countdownScore(equation, task, scoring) : 0;
    },
    expert: ({ task: { numbers, target } }) =>
      style === "working" ? workOut(numbers, target) : solveCountdown(numbers, target),
    actions: ({ task: { numbers }, rng }) =>
      Array.from({ length: drawnTerms }, () => joinAtRandom(numbers, chosen.operators, rng).text),
    limits: { turns: 1, turnTokens: { tags: 512, working: 128, compact: mostCharacters(chosen) }[style] },
    format: style === "tags" ? thinkAnswer() : plain(),
  });
}

function checkOptions({ counts, maxNumber, minTarget, maxTarget, operators }: CountdownOptions): void {
  checkWholeOptions("countdown", {
    maxNumber: [maxNumber, 1, 1_000_000],
    minTarget: [minTarget, -1_000_000, maxTarget],
    ...Object.fromEntries(counts.map((count, index) => [`counts[${index}]`, [count, 2, 6] as const])),
  });
  if (counts.length > 0 && operators.length > 0) return;
  throw new LudusError("bad-option", { got: "no counts or no operators of countdown", expected: "at least one each" });
}

const maxDraws = 100_000;
/** Terms that are listed as what may be said: a random few of very many. */
const drawnTerms = 8;

function makeTask(rng: Rng, options: CountdownOptions): CountdownTask {
  const { counts, maxNumber, minTarget, maxTarget, operators } = options;
  for (let i = 0; i < maxDraws; i++) {
    const numbers = Array.from({ length: counts[rng.integer(counts.length)] }, () => 1 + rng.integer(maxNumber));
    const { value } = joinAtRandom(numbers, operators, rng);
    if (Number.isInteger(value) && value >= minTarget && value <= maxTarget) return { numbers, target: value };
  }
  throw new LudusError("no-task", {
    got: `${maxDraws} draws without a target from ${minTarget} to ${maxTarget}`,
    expected: "a task within the limits",
    hint: "Widen the range of targets or raise maxNumber.",
  });
}

/** Of an answer: digits, operators and parentheses, some spaces, and the end of the turn. */
function mostCharacters({ counts, maxNumber }: CountdownOptions): number {
  return Math.max(...counts) * (String(maxNumber).length + 5) + 1;
}

/** `3 5 2=16` */
function shorten({ numbers, target }: CountdownTask): string {
  return `${numbers.join(" ")}=${target}`;
}

function describe({ numbers, target }: CountdownTask): string {
  return [
    "You are solving the Countdown puzzle. Make an equation that equals the target out of the numbers, each used exactly " +
      "once, with + - * / and parentheses. Example answer format: <think>To get 4 out of [3, 5, 2]: 2 + 5 = 7, and " +
      "7 - 3 = 4.</think><answer>2 + 5 - 3</answer>",
    `Target: ${target}, nums: [${numbers.join(", ")}]`,
    formatRule,
  ].join("\n");
}
