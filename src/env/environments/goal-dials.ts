import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import { plain } from "../../policy/formats/plain.ts";
import type { Turn } from "../../schema/turn.ts";
import { generated } from "../../task/generated.ts";
import { defineEnv } from "../define-env.ts";
import type { Env } from "../env.ts";
import { checkWholeOptions } from "./check-options.ts";

export interface GoalDialsOptions {
  /** Dials in a row, one turn each. */
  dials: number;
  /** Digits of a dial. */
  base: number;
  /** What a dial shows is what was said plus this: nobody tells. */
  shift: number;
  seed: number;
}

const knownGoalDialsOptions: KnownOptions<GoalDialsOptions> = { dials: true, base: true, shift: true, seed: true };

const defaults: GoalDialsOptions = { dials: 4, base: 10, shift: 3, seed: 0 };

/** What the dials are to show, `"4719"`; `"47__"` where only the first two are to be set. */
export interface GoalDialsTask {
  readonly goal: string;
}

export interface GoalDialsState {
  readonly goal: string;
  shown: string;
}

export interface GoalDialsEnv extends Env<GoalDialsTask, GoalDialsState> {
  /**
   * For each turn, the task that an attempt would have solved with it: what the dials showed then. Undefined where the turn set none. What
   * `hindsight` asks for.
   */
  achieved(task: GoalDialsTask, turns: readonly Turn[]): (GoalDialsTask | undefined)[];
}

/**
 * Dials that are to show a goal, set one after the other: `47__>4719`. A digit that is said turns the next dial to another one, by a rule that has
 * to be found out, so blind turning gets there once in `base ** dials` attempts. The score is 1 where the dials show the goal.
 */
export function goalDials(options: Partial<GoalDialsOptions> = {}): GoalDialsEnv {
  refuseUnknownOptions("goalDials", options, knownGoalDialsOptions);
  const { dials, base, shift, seed } = { ...defaults, ...options };
  checkWholeOptions("goal-dials", { dials: [dials, 1, 16], base: [base, 2, 36], shift: [shift, 0, base - 1] });
  const write = (digit: number) => (digit % base).toString(36);
  const show = ({ shown, goal }: GoalDialsState) => `${shown}>${goal}`;
  const env = defineEnv<GoalDialsTask, GoalDialsState>({
    name: "goal-dials",
    description: `${dials} dials that are to show a goal, turned by a rule that nobody tells`,
    tasks: generated((rng) => ({ goal: Array.from({ length: dials }, () => write(rng.integer(base))).join("") }), {
      name: `goal-dials-${dials}-${base}`,
      seed,
      key: ({ goal }) => goal,
    }),
    start({ task }) {
      const state: GoalDialsState = { goal: task.goal, shown: "_".repeat(dials) };
      return { state, say: show(state) };
    },
    act({ state, answer }) {
      const digit = readDigit(answer, base);
      if (digit !== undefined) state.shown = state.shown.replace("_", write(digit + shift));
      const isDone = state.shown === state.goal || !state.shown.includes("_");
      return { say: show(state), done: isDone, info: { isValid: digit !== undefined, shown: state.shown } };
    },
    score: ({ state }) => (state.shown === state.goal ? 1 : 0),
    expert: ({ state: { shown, goal } }) => write(Number.parseInt(goal[shown.indexOf("_")], 36) + base - shift),
    actions: () => Array.from({ length: base }, (_, digit) => write(digit)),
    stateKey: show,
    limits: { turns: dials, turnTokens: 4, tokens: 4 * dials },
    format: plain(),
  });
  return { ...env, achieved };
}

function achieved(_task: GoalDialsTask, turns: readonly Turn[]): (GoalDialsTask | undefined)[] {
  return turns.map(({ info }) =>
    info?.isValid === true && typeof info.shown === "string" ? { goal: info.shown } : undefined,
  );
}

function readDigit(answer: string, base: number): number | undefined {
  const said = answer.trim().toLowerCase();
  const digit = /^[0-9a-z]$/.test(said) ? Number.parseInt(said, 36) : base;
  return digit < base ? digit : undefined;
}
