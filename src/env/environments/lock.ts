import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import { plain } from "../../policy/formats/plain.ts";
import { thinkAnswer } from "../../policy/formats/think-answer.ts";
import type { Rng } from "../../random.ts";
import { generated } from "../../task/generated.ts";
import { defineEnv } from "../define-env.ts";
import type { Env } from "../env.ts";
import { checkWholeOptions } from "./check-options.ts";
import type { Style } from "./moves.ts";
import { formatRule } from "./ragen-prompt.ts";

export type HintKind = "plan" | "feedback" | "environment";

export interface LockOptions {
  style: Style;
  digits: number;
  base: number;
  /**
   * How the code follows from the serial number on the lock. `shift`: each digit plus `shift`, which a policy can learn
   * from locks it was helped to open, and use on others. `random`: not at all, so that nothing transfers between locks.
   */
  secret: "shift" | "random";
  shift: number;
  tries: number;
  /** What a wrong code is told besides that it is wrong: nothing, how many digits are right, or which. */
  feedback: "none" | "count" | "places";
  /** Told from the start, or, as `feedback`, after each try. Nothing by default: then the code can only be guessed. */
  hint: HintKind | "none";
  seed: number;
}

const knownLockOptions: KnownOptions<LockOptions> = {
  style: true,
  digits: true,
  base: true,
  secret: true,
  shift: true,
  tries: true,
  feedback: true,
  hint: true,
  seed: true,
};

const defaults: LockOptions = {
  style: "compact",
  digits: 4,
  base: 10,
  secret: "shift",
  shift: 3,
  tries: 1,
  feedback: "none",
  hint: "none",
  seed: 0,
};

export interface LockTask {
  readonly serial: string;
  readonly code: string;
}

export interface LockState {
  readonly task: LockTask;
  /** As it was said; a guide may fill this in from a failed attempt. */
  lastTry: string | undefined;
}

/** The three kinds of guidance that Agent-RLVR gives after a failed attempt. */
export interface LockHints {
  /** How to go about it, without a single digit. */
  readonly plan: string;
  /** What was wrong with the last try. */
  readonly feedback: string;
  /** A fact of the world: the code. */
  readonly environment: string;
}

export interface LockEnv extends Env<LockTask, LockState> {
  hints(state: LockState): LockHints;
}

/** A lock that a random guess opens with probability 1 / `base ** digits`. The score is 1 when it opens. */
export function lock(options: Partial<LockOptions> = {}): LockEnv {
  refuseUnknownOptions("lock", options, knownLockOptions);
  const chosen = { ...defaults, ...options };
  const { style, digits, base, tries, feedback, hint, seed } = chosen;
  checkWholeOptions("lock", {
    digits: [digits, 1, 32],
    base: [base, 2, 36],
    shift: [chosen.shift, 0, base - 1],
    tries: [tries, 1, 1000],
  });
  const hints = (state: LockState) => makeHints(state, chosen);
  const env = defineEnv<LockTask, LockState>({
    name: "lock",
    description: `A combination lock of ${digits} digits, opened by almost no blind try`,
    tasks: generated((rng) => makeTask(rng, chosen), { name: "lock", seed, key: ({ serial }) => serial }),
    start({ task }) {
      const state: LockState = { task, lastTry: undefined };
      const hinted = hint === "none" ? [] : [hints(state)[hint]];
      return { state, say: [introduce(task, chosen), ...hinted].filter((line) => line !== "").join("\n") };
    },
    act({ state, answer }) {
      state.lastTry = answer;
      if (isRight(state)) return { say: "open", done: true };
      const told = { none: [], count: [countRight(state)], places: [showPlaces(state)] }[feedback];
      const hinted = hint === "feedback" ? [hints(state).feedback] : [];
      return { say: ["wrong", ...told, ...hinted].join(" ") };
    },
    score: ({ state }) => (isRight(state) ? 1 : 0),
    expert: ({ task }) => task.code,
    actions: ({ rng }) => Array.from({ length: drawnCodes }, () => makeTask(rng, chosen).code),
    stateKey: ({ task: { serial }, lastTry = "" }) => `${serial} ${lastTry}`,
    limits: { turns: tries, turnTokens: style === "tags" ? 256 : 2 * digits + 2 },
    format: style === "tags" ? thinkAnswer() : plain(),
  });
  return { ...env, hints };
}

/** Codes that are listed as what may be said: a random few of very many. */
const drawnCodes = 8;

function makeTask(rng: Rng, { digits, base, secret, shift }: LockOptions): LockTask {
  const draw = () => Array.from({ length: digits }, () => rng.integer(base));
  const serial = draw();
  const code = secret === "random" ? draw() : serial.map((digit) => (digit + shift) % base);
  const write = (values: readonly number[]) => values.map((value) => value.toString(36)).join("");
  return { serial: write(serial), code: write(code) };
}

/** `4 7 1 9`, `4-7-1-9` and `4719` are the same code. */
function readCode(answer: string): string {
  return answer
    .slice(0, 200)
    .replace(/[\s,-]+/g, "")
    .toLowerCase();
}

function introduce({ serial }: LockTask, { style, digits, base, tries }: LockOptions): string {
  if (style === "compact") return serial;
  const chances = tries === 1 ? "one try" : `${tries} tries`;
  return [
    `A lock with the serial number ${serial} is opened by a code of ${digits} digits, each one of ${base}: 0 to ` +
      `${(base - 1).toString(36)}. You have ${chances}. Answer with the code alone, like <answer>${"0".repeat(digits)}</answer>`,
    formatRule,
  ].join("\n");
}

function makeHints(state: LockState, { style, base, secret, shift }: LockOptions): LockHints {
  const { code } = state.task;
  const isShort = style === "compact";
  const plan =
    secret === "random"
      ? ["?", "Nothing on the lock tells its code: look for it elsewhere."]
      : [
          `+${shift}`,
          `Add ${shift} to every digit of the serial number, starting over at 0 after ${(base - 1).toString(36)}.`,
        ];
  const told = `The digits of your last try that were right, in their places: ${showPlaces(state)}.`;
  const feedback = state.lastTry === undefined ? ["", ""] : [showPlaces(state), told];
  const environment = [`=${code}`, `The code of this lock is ${code}.`];
  const choose = (texts: readonly string[]) => (isShort ? texts[0] : texts[1]);
  return { plan: choose(plan), feedback: choose(feedback), environment: choose(environment) };
}

function isRight({ task: { code }, lastTry = "" }: LockState): boolean {
  return readCode(lastTry) === code;
}

function countRight(state: LockState): string {
  return String([...showPlaces(state)].filter((digit) => digit !== "_").length);
}

/** `4__9`: the digits of the last try that are right, in their places. */
function showPlaces({ task: { code }, lastTry = "" }: LockState): string {
  const tried = readCode(lastTry);
  return [...code].map((digit, index) => (tried[index] === digit ? digit : "_")).join("");
}
