import { defined } from "../../defined.ts";
import { LudusError } from "../../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import { plain } from "../../policy/formats/plain.ts";
import { thinkAnswer } from "../../policy/formats/think-answer.ts";
import { makeScore } from "../../schema/score.ts";
import { generated } from "../../task/generated.ts";
import { defineEnv } from "../define-env.ts";
import type { ActContext, Acted, Env } from "../env.ts";
import { checkWholeOptions } from "./check-options.ts";
import { drawMoves, moves, readMoves, type Style, writeMoves } from "./moves.ts";
import { describeGame, describeReward, describeTurn, ragenSystem } from "./ragen-prompt.ts";
import { makeRoom } from "./sokoban-rooms.ts";
import { boxesOnTarget, drawRoom, isSolved, push, type Room, readRoom, type Symbols, solve } from "./sokoban-rules.ts";

export interface SokobanOptions {
  style: Style;
  width: number;
  height: number;
  boxes: number;
  /** How many moves the generator plays backwards at most. */
  searchDepth: number;
  /** Moves of an episode; those that lead nowhere count. */
  maxActions: number;
  actionsPerTurn: number;
  turns: number;
  /** Only rooms with a solution of at most so many moves, in the splits train, test and vocabulary. */
  maxSolution: number;
  /** Subtracted for a turn without a move, with something that is not a move, or with a broken format. */
  invalidPenalty: number;
  seed: number;
}

const knownSokobanOptions: KnownOptions<SokobanOptions> = {
  style: true,
  width: true,
  height: true,
  boxes: true,
  searchDepth: true,
  maxActions: true,
  actionsPerTurn: true,
  turns: true,
  maxSolution: true,
  invalidPenalty: true,
  seed: true,
};

/** RAGEN's SimpleSokoban, but for the style. */
const defaults: SokobanOptions = {
  style: "compact",
  width: 6,
  height: 6,
  boxes: 1,
  searchDepth: 300,
  maxActions: 10,
  actionsPerTurn: 5,
  turns: 5,
  maxSolution: Number.POSITIVE_INFINITY,
  invalidPenalty: 0.1,
  seed: 0,
};

/** gym-sokoban's. */
const rewards = { action: -0.1, boxOnTarget: 1, boxOffTarget: -1, finished: 10 };

export interface SokobanTask {
  /** In the symbols of `vocabularies.tags`. */
  readonly room: string;
  readonly vocabulary: "usual" | "other";
}

export interface SokobanState {
  room: Room;
  actionsLeft: number;
  readonly vocabulary: SokobanTask["vocabulary"];
}

function symbolsOf([wall, empty, target, boxOnTarget, box, player, playerOnTarget]: readonly string[]): Symbols {
  return {
    wall: wall,
    empty: empty,
    target: target,
    boxOnTarget: boxOnTarget,
    box: box,
    player: player,
    playerOnTarget: playerOnTarget,
  };
}

const vocabularies = {
  tags: symbolsOf([..."#_O√XPS"]),
  // one byte each
  compact: symbolsOf([..."#_O*XPS"]),
  other: symbolsOf([..."W.GCBA@"]),
};

/**
 * Push every box onto a target. The score is the sum of gym-sokoban's rewards; success is every box on a target. Splits
 * `larger` (8 × 8, two boxes) and `vocabulary` (other symbols) are RAGEN's tests outside of the training distribution.
 */
export function sokoban(options: Partial<SokobanOptions> = {}): Env<SokobanTask, SokobanState> {
  refuseUnknownOptions("sokoban", options, knownSokobanOptions);
  const chosen = { ...defaults, ...options };
  const { style, maxActions, actionsPerTurn, turns } = chosen;
  checkOptions(chosen);
  const symbolsFor = (vocabulary: SokobanTask["vocabulary"]) => vocabularies[vocabulary === "other" ? "other" : style];
  const turnTokens = style === "tags" ? 256 : 2 * actionsPerTurn + 2;
  const show = ({ room, vocabulary }: SokobanState) => drawRoom(room, symbolsFor(vocabulary));
  return defineEnv<SokobanTask, SokobanState>({
    name: "sokoban",
    description: "Push boxes onto targets; they cannot be pulled",
    tasks: makeTasks(chosen),
    ...defined({ system: style === "tags" ? ragenSystem : undefined }),
    start({ task }) {
      const room = readRoom(task.room, vocabularies.tags);
      const state: SokobanState = { room, actionsLeft: maxActions, vocabulary: task.vocabulary };
      if (style === "compact") return { state, say: show(state) };
      const turn = describeTurn({ turn: 1, state: show(state), actionsLeft: maxActions });
      return { state, say: `${introduce(symbolsFor(task.vocabulary), actionsPerTurn)}\n${turn}` };
    },
    act: (context) => act(context, chosen, show),
    score: ({ state }) => makeScore({}, isSolved(state.room)),
    expert({ state }) {
      const path = solve(state.room);
      return path === undefined ? undefined : writeMoves(path.slice(0, actionsPerTurn), style);
    },
    actions: ({ rng }) => drawMoves(rng, actionsPerTurn, style),
    stateKey: ({ room }) => drawRoom(room, vocabularies.compact),
    limits: { turns, turnTokens, tokens: turns * turnTokens },
    format: style === "tags" ? thinkAnswer() : plain(),
  });
}

function checkOptions({ width, height, boxes, searchDepth, maxActions, actionsPerTurn, turns }: SokobanOptions): void {
  checkWholeOptions("sokoban", {
    width: [width, 4, 20],
    height: [height, 4, 20],
    boxes: [boxes, 1, 4],
    // the search recurses once for each move played backwards
    searchDepth: [searchDepth, 2, 1000],
    maxActions: [maxActions, 1, 1000],
    actionsPerTurn: [actionsPerTurn, 1, 100],
    turns: [turns, 1, 1000],
  });
}

const maxDraws = 1_000;

function makeTasks(options: SokobanOptions) {
  return generated<SokobanTask>(
    (rng, split) => {
      const isLarger = split === "larger";
      const size = isLarger ? { width: 8, height: 8, boxes: 2, searchDepth: 10 } : options;
      for (let i = 0; i < maxDraws; i++) {
        const room = makeRoom(rng, size);
        const isShort = isLarger || options.maxSolution === Number.POSITIVE_INFINITY;
        if (!isShort && (solve(room)?.length ?? Number.POSITIVE_INFINITY) > options.maxSolution) continue;
        return { room: drawRoom(room, vocabularies.tags), vocabulary: split === "vocabulary" ? "other" : "usual" };
      }
      throw new LudusError("no-task", {
        got: `${maxDraws} rooms, none solved in ${options.maxSolution} moves`,
        expected: "a room within the limits",
        hint: "Raise maxSolution.",
      });
    },
    {
      name: "sokoban",
      seed: options.seed,
      splits: ["train", "test", "larger", "vocabulary"],
      key: ({ room }) => room,
    },
  );
}

function act(
  { state, answer, said: { isWellFormed }, turn }: ActContext<SokobanTask, SokobanState>,
  { style, actionsPerTurn, invalidPenalty }: SokobanOptions,
  show: (state: SokobanState) => string,
): Acted {
  const { moves: said, areAllMoves } = readMoves(answer, style, actionsPerTurn);
  const isValid = areAllMoves && isWellFormed;
  let reward = 0;
  for (const move of said) {
    if (state.actionsLeft === 0 || isSolved(state.room)) break;
    const before = boxesOnTarget(state.room);
    state.room = push(state.room, move);
    state.actionsLeft--;
    const gained = boxesOnTarget(state.room) - before;
    reward += rewards.action;
    if (gained > 0) reward += rewards.boxOnTarget;
    if (gained < 0) reward += rewards.boxOffTarget;
    if (isSolved(state.room)) reward += rewards.finished;
  }
  const shown = { turn: turn + 2, state: show(state), actionsLeft: state.actionsLeft };
  return {
    say: style === "tags" ? `${describeReward(reward)}\n${describeTurn(shown)}` : shown.state,
    reward: reward - (isValid ? 0 : invalidPenalty),
    done: isSolved(state.room) || state.actionsLeft === 0,
    info: { isValid },
  };
}

function introduce(symbols: Symbols, actionsPerTurn: number): string {
  return describeGame({
    instruction:
      "You are solving the Sokoban puzzle. You are the player, and every box has to stand on a target. " +
      "Next to a box, you push it by moving towards it. A box cannot be pulled, and cannot be pushed into a wall or " +
      "another box. The answer is a sequence of actions, like <answer>Right || Right || Up</answer>",
    symbols: {
      [symbols.wall]: "wall",
      [symbols.empty]: "empty",
      [symbols.target]: "target",
      [symbols.boxOnTarget]: "box on target",
      [symbols.box]: "box",
      [symbols.player]: "player",
      [symbols.playerOnTarget]: "player on target",
    },
    actions: moves,
    actionsPerTurn,
  });
}
