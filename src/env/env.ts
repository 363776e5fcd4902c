import type { Said, WantToSay } from "../policy/call-format.ts";
import type { Rng } from "../random.ts";
import type { World } from "../rollout/world.ts";
import type { Score } from "../schema/score.ts";
import type { StopReason } from "../schema/stop-reason.ts";
import type { TrainingProgress } from "../schema/training-progress.ts";
import type { Trajectory } from "../schema/trajectory.ts";
import type { Turn } from "../schema/turn.ts";
import type { Tool } from "../tool/tool.ts";

/**
 * A world to act in, in messages. Tokens, masks, limits and failures are the framework's. Made by `defineEnv`:
 *
 *     const guess = defineEnv({
 *       name: "guess",
 *       description: "Find a number between 1 and 100",
 *       tasks: generated((rng) => ({ secret: 1 + rng.integer(100) })),
 *       start: () => ({ state: { tries: 0 }, say: "Guess my number, 1 to 100." }),
 *       act({ task, state, answer }) {
 *         state.tries++;
 *         const guess = Number(answer);
 *         if (guess === task.secret) return { done: true };
 *         return { say: guess < task.secret ? "higher" : "lower" };
 *       },
 *       score: ({ task, answer }) => ({ outcome: Number(answer) === task.secret ? 1 : 0 }),
 *       limits: { turns: 8, turnTokens: 8 },
 *     });
 *
 * A policy's turn is read by `format`. Tool calls in it are run; a turn without calls goes to `act`, or, where there is no
 * `act`, is the answer and ends the episode. Promises: the same task, seed and actions give the same episode; an episode is
 * used once; nothing outside `state` is changed. `checkEnv(env)` tries to break them.
 */
export interface Env<Data = unknown, State = unknown> extends World<Data> {
  /** Told once, before everything. */
  system?(task: Data, role: string): string;
  start(context: StartContext<Data>): Start<State> | Promise<Start<State>>;
  readonly tools?: Readonly<Record<string, Tool<State>>>;
  act?(context: ActContext<Data, State>): Acted | Promise<Acted>;
  /** Parts of the final score; turn rewards are added as the part `turns`. Nothing more when absent. */
  score?(episode: FinishedEpisode<Data, State>): ScoreParts | Promise<ScoreParts>;
  /** A call that cannot be read: told to the policy, or the end (`parse-error`). */
  readonly malformed: "observe" | "stop";
  /** What to tell the policy about what is left to it, added to each observation. */
  remind?(left: { turns: number; tokens: number }): string | undefined;
  /** What someone who knows the world would say now; undefined when the expert is stuck. */
  expert?(context: ExpertContext<Data, State>): WantToSay | string | undefined;
  /** What may be said now, where that can be listed: for random players, noisy demonstrations, exploration and search. */
  actions?(context: ExpertContext<Data, State>): readonly (WantToSay | string)[];
  /** Names states, so that equal ones are compared across a group (GiGPO, GUI trees, search). */
  stateKey?(state: State): string;
  /**
   * A second state that lives on its own, for search; `close` is called for it too. Not needed where the state is plain data and nothing
   * has to be closed.
   */
  copy?(state: State): State | Promise<State>;
  /** Frees what `start` opened. Called exactly once per episode, however it ended. */
  close?(state: State): void | Promise<void>;
}

export interface StartContext<Data> {
  readonly task: Data;
  readonly rng: Rng;
  readonly signal: AbortSignal;
}

export interface Start<State> {
  readonly state: State;
  /** What the first role reads. */
  readonly say: string;
}

export interface ActContext<Data, State> {
  readonly task: Data;
  readonly state: State;
  readonly rng: Rng;
  readonly signal: AbortSignal;
  /** Everything that was said. */
  readonly text: string;
  /** What was meant as an action or an answer, thoughts taken out. */
  readonly answer: string;
  readonly said: Said;
  readonly role: string;
  /** 0 for the first turn of the episode. */
  readonly turn: number;
  readonly turnsLeft: number;
}

export interface Acted {
  /** What the next to act reads; empty by default. */
  readonly say?: string;
  readonly reward?: number;
  /** Rewards of other roles for this turn; they count for those roles' last turns. */
  readonly rewards?: Readonly<Record<string, number>>;
  readonly done?: boolean;
  /** Who acts next; the same role by default. */
  readonly next?: string;
  /** Kept in the turn's record. */
  readonly info?: Turn["info"];
}

export interface FinishedEpisode<Data, State> {
  readonly task: Data;
  readonly state: State;
  readonly role: string;
  /** The last thing said without a call, or what a tool finished with; empty when nothing was answered. */
  readonly answer: string;
  readonly turns: readonly Turn[];
  /** Tokens that the role sampled, forced ones left out; 0 where nobody samples tokens. */
  readonly sampledTokens: number;
  /** The tokens as they were sampled, without scores; absent where nobody samples tokens. */
  readonly tokens?: () => readonly Trajectory[];
  readonly training?: TrainingProgress;
  readonly stop: StopReason;
  readonly signal: AbortSignal;
}

export interface ExpertContext<Data, State> {
  readonly task: Data;
  readonly state: State;
  /** The expert's own random numbers, apart from the episode's: asking it does not change the world. */
  readonly rng: Rng;
  readonly role: string;
  readonly turn: number;
}

/** A number is the part `outcome`. `success` may be said; otherwise it is an outcome of 1 or more. */
export type ScoreParts = number | Readonly<Record<string, number>> | Score;
