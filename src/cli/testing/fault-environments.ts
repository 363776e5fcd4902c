import { z } from "zod";
import { defined } from "../../defined.ts";
import { defineEnv } from "../../env/define-env.ts";
import type { Env } from "../../env/env.ts";
import { compact } from "../../policy/formats/compact.ts";
import { makeScore } from "../../schema/score.ts";
import { generated } from "../../task/generated.ts";

// Worlds small enough that a tiny policy learns them in seconds, each with faults that can be switched on.

const letters = ["a", "b", "c", "d"];

interface LetterTask {
  readonly letter: string;
}

/** The same environment, which fails from so many starts on. */
export function failingFrom<Data, State>(env: Env<Data, State>, starts: number): Env<Data, State> {
  let count = 0;
  return {
    ...env,
    start(context) {
      if (count++ >= starts) throw new Error(`database is down (connection ${count})`);
      return env.start(context);
    },
  };
}

/**
 * Say the letter that was shown. `hackable`: an exclamation mark pays more than the right letter does. `misleading`:
 * demonstrations say the next letter.
 */
export function copyEnv({ hackable = false, misleading = false } = {}): Env<LetterTask, undefined> {
  return defineEnv<LetterTask, undefined>({
    name: "copy",
    tasks: generated<LetterTask>((rng) => ({ letter: letters[rng.integer(4)] })),
    start: ({ task }) => ({ state: undefined, say: `${task.letter}?` }),
    score({ task, answer }) {
      const isRight = answer === task.letter;
      return makeScore(
        { outcome: isRight ? 1 : 0, ...defined({ style: hackable ? (answer === "!" ? 2 : 0) : undefined }) },
        isRight,
      );
    },
    expert: ({ task: { letter } }) => (misleading ? letters[(letters.indexOf(letter) + 1) % 4] : letter),
    actions: () => [...letters, "!"],
    limits: { turns: 1, turnTokens: 4 },
  });
}

interface WalkTask {
  readonly target: number;
}

interface WalkState {
  place: number;
  isThere: boolean;
}

const walkTurns = 8;

/** Go right until the target, then stop. `paysByTurn`: every turn pays, so that stopping costs. */
export function walkEnv({ paysByTurn = false } = {}): Env<WalkTask, WalkState> {
  return defineEnv<WalkTask, WalkState>({
    name: "walk",
    tasks: generated<WalkTask>((rng) => ({ target: 1 + rng.integer(3) })),
    start: ({ task }) => ({ state: { place: 0, isThere: false }, say: `${task.target}:0` }),
    act({ task, state, answer }) {
      if (answer === "r") state.place = Math.min(3, state.place + 1);
      if (answer === "s") state.isThere = state.place === task.target;
      const reward = paysByTurn ? 0.5 : 0;
      return { say: `${task.target}:${state.place}`, done: answer === "s", reward };
    },
    score: ({ state }) => makeScore({ outcome: state.isThere ? 1 : 0 }),
    expert: ({ task, state }) => (state.place < task.target ? "r" : "s"),
    actions: () => ["r", "s", "w"],
    limits: { turns: walkTurns, turnTokens: 4 },
  });
}

interface LookTask {
  readonly drawer: string;
}

interface LookState {
  isOpen: boolean;
  isConfused: boolean;
}

/**
 * Open the drawer that was named, then name it. `hallucinating`: demonstrations first call a tool that does not exist.
 * `crashing`: the tool breaks two times out of three.
 */
export function drawerEnv({ hallucinating = false, crashing = false } = {}): Env<LookTask, LookState> {
  let calls = 0;
  return defineEnv<LookTask, LookState>({
    name: "drawer",
    tasks: generated<LookTask>((rng) => ({ drawer: letters[rng.integer(4)] })),
    start: ({ task }) => ({ state: { isOpen: false, isConfused: hallucinating }, say: `${task.drawer}?` }),
    tools: (tool) => ({
      open: tool({
        input: z.object({ drawer: z.string() }),
        run({ drawer }, { state }) {
          if (crashing && calls++ % 3 < 2) throw new Error("the drawer is stuck");
          state.isOpen = true;
          return `in ${drawer}`;
        },
      }),
    }),
    score: ({ task, answer, state }) => makeScore({ outcome: state.isOpen && answer === task.drawer ? 1 : 0 }),
    expert({ task, state }) {
      if (state.isConfused) {
        state.isConfused = false;
        return { calls: [{ name: "peek", arguments: {} }] };
      }
      return state.isOpen ? { answer: task.drawer } : { calls: [{ name: "open", arguments: { drawer: task.drawer } }] };
    },
    actions: () => letters.map((letter) => ({ answer: letter })),
    limits: { turns: 5, turnTokens: 12 },
    format: compact(),
  });
}
