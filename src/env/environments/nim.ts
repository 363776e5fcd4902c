import { type KnownOptions, refuseOtherValue, refuseUnknownOptions } from "../../known-options.ts";
import { plain } from "../../policy/formats/plain.ts";
import { thinkAnswer } from "../../policy/formats/think-answer.ts";
import type { Rng } from "../../random.ts";
import { generated } from "../../task/generated.ts";
import { defineEnv } from "../define-env.ts";
import type { Env } from "../env.ts";
import { checkWholeOptions } from "./check-options.ts";
import type { Style } from "./moves.ts";
import { formatRule } from "./ragen-prompt.ts";

export interface NimOptions {
  style: Style;
  heaps: number;
  /** Stones of a heap at the beginning, at most. */
  most: number;
  /** Who plays the other side: a policy, as the role `opponent`; somebody who moves at random; or one who never errs. */
  opponent: "policy" | "random" | "perfect";
  seed: number;
}

const known: KnownOptions<NimOptions> = { style: true, heaps: true, most: true, opponent: true, seed: true };
const defaults: NimOptions = { style: "compact", heaps: 3, most: 5, opponent: "policy", seed: 0 };

export interface NimTask {
  readonly heaps: readonly number[];
}

export interface NimState {
  heaps: number[];
  winner: string | undefined;
}

const [player, opponent] = ["player", "opponent"];

/**
 * Nim, a game of two: `3 5 1` are heaps, `b2` takes two stones of the second, and whoever takes the last stone wins. Whoever makes a move that there is not loses.
 * The player begins, in a position that can be won, and scores 1 for a win. With `opponent: "policy"` both sides are roles.
 */
export function nim(options: Partial<NimOptions> = {}): Env<NimTask, NimState> {
  refuseUnknownOptions("nim", options, known);
  const chosen = { ...defaults, ...options };
  const { style, heaps, most, seed } = chosen;
  checkWholeOptions("nim", { heaps: [heaps, 2, 6], most: [most, 2, 9] });
  refuseOtherValue("opponent of nim", chosen.opponent, ["policy", "random", "perfect"]);
  const isPolicy = chosen.opponent === "policy";
  return defineEnv<NimTask, NimState>({
    name: "nim",
    description: `Nim with ${heaps} heaps: whoever takes the last stone wins`,
    tasks: generated((rng) => ({ heaps: drawHeaps(rng, heaps, most) }), {
      name: `nim-${heaps}-${most}`,
      seed,
      key: (task) => task.heaps.join(" "),
    }),
    roles: isPolicy ? [player, opponent] : [player],
    start: ({ task }) => ({
      state: { heaps: [...task.heaps], winner: undefined },
      say: `${introduce(style)}${task.heaps.join(" ")}`,
    }),
    act({ state, role, answer, rng, turn }) {
      const other = role === player ? opponent : player;
      const move = readMove(answer, state.heaps);
      if (move === undefined) return won(state, other);
      take(state, move);
      if (isOver(state)) return won(state, role);
      const first = isPolicy && turn === 0 ? introduce(style) : "";
      if (isPolicy) return { say: `${first}${state.heaps.join(" ")}`, next: other };
      take(state, chosen.opponent === "perfect" ? bestMove(state.heaps, rng) : anyMove(state.heaps, rng));
      return isOver(state) ? won(state, opponent) : { say: state.heaps.join(" ") };
    },
    score: ({ state, role }) => (state.winner === role ? 1 : 0),
    expert: ({ state, rng }) => writeMove(bestMove(state.heaps, rng)),
    actions: ({ state }) => movesOf(state.heaps).map(writeMove),
    stateKey: (state) => state.heaps.join(" "),
    limits: { turns: heaps * most, turnTokens: style === "tags" ? 256 : 4 },
    format: style === "tags" ? thinkAnswer() : plain(),
  });
}

/** Take `stones` of heap `heap`. */
interface Move {
  readonly heap: number;
  readonly stones: number;
}

function drawHeaps(rng: Rng, count: number, most: number): number[] {
  for (;;) {
    const heaps = Array.from({ length: count }, () => 1 + rng.integer(most));
    if (nimSum(heaps) !== 0) return heaps;
  }
}

/** 0 where whoever is to move loses against somebody who never errs. */
function nimSum(heaps: readonly number[]): number {
  return heaps.reduce((sum, heap) => sum ^ heap, 0);
}

function movesOf(heaps: readonly number[]): Move[] {
  return heaps.flatMap((size, heap) => Array.from({ length: size }, (_, i) => ({ heap, stones: i + 1 })));
}

function anyMove(heaps: readonly number[], rng: Rng): Move {
  const all = movesOf(heaps);
  return all[rng.integer(all.length)];
}

/** One that leaves a lost position where there is one; else any. */
function bestMove(heaps: readonly number[], rng: Rng): Move {
  const winning = movesOf(heaps).filter(({ heap, stones }) => nimSum(heaps.with(heap, heaps[heap] - stones)) === 0);
  return winning.length === 0 ? anyMove(heaps, rng) : winning[rng.integer(winning.length)];
}

function take(state: NimState, { heap, stones }: Move): void {
  state.heaps[heap] -= stones;
}

function isOver({ heaps }: NimState): boolean {
  return heaps.every((heap) => heap === 0);
}

function won(state: NimState, winner: string) {
  state.winner = winner;
  return { done: true, say: `${winner} wins` };
}

/** `b2`: the heap by its letter, and how many stones. */
function readMove(answer: string, heaps: readonly number[]): Move | undefined {
  const [, letter, digit] = /^([a-f])([1-9])$/.exec(answer.trim().toLowerCase()) ?? [];
  if (letter === undefined) return undefined;
  const move = { heap: letter.charCodeAt(0) - "a".charCodeAt(0), stones: Number(digit) };
  return (heaps[move.heap] ?? 0) >= move.stones ? move : undefined;
}

function writeMove({ heap, stones }: Move): string {
  return `${String.fromCharCode("a".charCodeAt(0) + heap)}${stones}`;
}

function introduce(style: Style): string {
  if (style === "compact") return "";
  return [
    "Heaps of stones are named a, b, c and so on. You and an opponent take turns; a turn takes one stone or more of one heap, and whoever takes the last stone wins.",
    "Answer with the heap and how many stones you take of it, like <answer>b2</answer>.",
    `${formatRule}`,
    "The heaps: ",
  ].join("\n");
}
