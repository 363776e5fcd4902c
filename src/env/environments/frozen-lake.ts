import { defined } from "../../defined.ts";
import { LudusError } from "../../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import { plain } from "../../policy/formats/plain.ts";
import { thinkAnswer } from "../../policy/formats/think-answer.ts";
import type { Rng } from "../../random.ts";
import { generated } from "../../task/generated.ts";
import { defineEnv } from "../define-env.ts";
import type { ActContext, Acted, Env, ExpertContext } from "../env.ts";
import { checkWholeOptions } from "./check-options.ts";
import { drawLake, type Lake, planOnIce, shortestPath, slide, slips } from "./frozen-lake-rules.ts";
import { drawMoves, moves, readMoves, type Style, writeMoves } from "./moves.ts";
import { describeGame, describeReward, describeTurn, ragenSystem } from "./ragen-prompt.ts";

export interface FrozenLakeOptions {
  style: Style;
  size: number;
  /** Of each cell; others are holes. */
  frozenProbability: number;
  /** A move goes as meant or to either side, each with a third. */
  isSlippery: boolean;
  /** Moves of an episode; those that lead nowhere count. */
  maxActions: number;
  actionsPerTurn: number;
  turns: number;
  /** Only maps whose goal is at most so many moves away. */
  maxPath: number;
  /** Subtracted for a turn without a move, with something that is not a move, or with a broken format. */
  invalidPenalty: number;
  /** Between the cells of a row, in tags style. */
  cellSeparator: string;
  seed: number;
}

const knownFrozenLakeOptions: KnownOptions<FrozenLakeOptions> = {
  style: true,
  size: true,
  frozenProbability: true,
  isSlippery: true,
  maxActions: true,
  actionsPerTurn: true,
  turns: true,
  maxPath: true,
  invalidPenalty: true,
  cellSeparator: true,
  seed: true,
};

/** RAGEN's, but for the style. */
const defaults: FrozenLakeOptions = {
  style: "compact",
  size: 4,
  frozenProbability: 0.8,
  isSlippery: true,
  maxActions: 10,
  actionsPerTurn: 5,
  turns: 5,
  maxPath: Number.POSITIVE_INFINITY,
  invalidPenalty: 0.1,
  cellSeparator: "",
  seed: 0,
};

/** The lake as rLLM has it: `frozenLake({ ...rllmLake, style: "tags" })`. */
export const rllmLake: Partial<FrozenLakeOptions> = {
  size: 8,
  isSlippery: false,
  maxActions: 5,
  actionsPerTurn: 1,
  turns: 10,
  maxPath: 5,
  invalidPenalty: 0,
  cellSeparator: "\t",
};

export interface FrozenLakeTask {
  /** `P` start, `G` goal, `O` hole, `_` frozen. */
  readonly rows: readonly string[];
}

export interface FrozenLakeState extends Lake {
  position: number;
  actionsLeft: number;
}

/** Cross the ice to the goal, around the holes. The score is 1 at the goal, 0 otherwise; a hole ends the episode. */
export function frozenLake(options: Partial<FrozenLakeOptions> = {}): Env<FrozenLakeTask, FrozenLakeState> {
  refuseUnknownOptions("frozenLake", options, knownFrozenLakeOptions);
  const chosen = { ...defaults, ...options };
  checkOptions(chosen);
  const { style, maxActions, turns, seed } = chosen;
  const turnTokens = style === "tags" ? 256 : 2 * chosen.actionsPerTurn + 2;
  const show = (state: FrozenLakeState) => draw(state, style, style === "tags" ? chosen.cellSeparator : "");
  return defineEnv<FrozenLakeTask, FrozenLakeState>({
    name: "frozen-lake",
    description: `Cross ${chosen.isSlippery ? "slippery " : ""}ice to the goal, around the holes`,
    tasks: generated((rng) => makeTask(rng, chosen), { name: "frozen-lake", seed, key: ({ rows }) => rows.join("/") }),
    ...defined({ system: style === "tags" ? ragenSystem : undefined }),
    start({ task }) {
      const state = open(task, maxActions);
      if (style === "compact") return { state, say: show(state) };
      const turn = describeTurn({ turn: 1, state: show(state), actionsLeft: maxActions });
      return { state, say: `${introduce(chosen)}\n${turn}` };
    },
    act: (context) => act(context, chosen, show),
    score: ({ state }) => (state.cells[state.position] === "G" ? 1 : 0),
    expert: (context) => advise(context, chosen),
    actions: ({ rng }) => drawMoves(rng, chosen.actionsPerTurn, style),
    stateKey: (state) => draw(state, "compact", ""),
    limits: { turns, turnTokens, tokens: turns * turnTokens },
    format: style === "tags" ? thinkAnswer() : plain(),
  });
}

function checkOptions({ size, maxActions, actionsPerTurn, turns }: FrozenLakeOptions): void {
  checkWholeOptions("frozen-lake", {
    size: [size, 2, 32],
    maxActions: [maxActions, 1, 1000],
    actionsPerTurn: [actionsPerTurn, 1, 100],
    turns: [turns, 1, 1000],
  });
}

const maxDraws = 10_000;

function makeTask(rng: Rng, options: FrozenLakeOptions): FrozenLakeTask {
  for (let i = 0; i < maxDraws; i++) {
    const drawn = drawLake(rng, options);
    if (drawn === undefined) continue;
    const { lake, start } = drawn;
    const cells = `${lake.cells.slice(0, start)}P${lake.cells.slice(start + 1)}`;
    return { rows: Array.from({ length: lake.size }, (_, row) => cells.slice(row * lake.size, (row + 1) * lake.size)) };
  }
  throw new LudusError("no-task", {
    got: `${maxDraws} lakes without a way to the goal of ${options.maxPath} moves`,
    expected: "a map within the limits",
    hint: "Raise maxPath or frozenProbability.",
  });
}

function open({ rows }: FrozenLakeTask, actionsLeft: number): FrozenLakeState {
  const cells = rows.join("");
  return { size: rows.length, cells: cells.replace("P", "_"), position: cells.indexOf("P"), actionsLeft };
}

function act(
  { state, answer, said: { isWellFormed }, rng, turn }: ActContext<FrozenLakeTask, FrozenLakeState>,
  { style, actionsPerTurn, isSlippery, invalidPenalty }: FrozenLakeOptions,
  show: (state: FrozenLakeState) => string,
): Acted {
  const { moves: said, areAllMoves } = readMoves(answer, style, actionsPerTurn);
  const isValid = areAllMoves && isWellFormed;
  for (const move of said) {
    if (state.actionsLeft === 0 || isOver(state)) break;
    state.position = slide(state, state.position, isSlippery ? slips(move)[rng.integer(3)] : move);
    state.actionsLeft--;
  }
  const isAtGoal = state.cells[state.position] === "G";
  const shown = { turn: turn + 2, state: show(state), actionsLeft: state.actionsLeft };
  return {
    say: style === "tags" ? `${describeReward(isAtGoal ? 1 : 0)}\n${describeTurn(shown)}` : shown.state,
    reward: isValid ? 0 : -invalidPenalty,
    done: isOver(state) || state.actionsLeft === 0,
    info: { isValid },
  };
}

function isOver({ cells, position }: FrozenLakeState): boolean {
  return cells[position] !== "_";
}

/** On firm ice the shortest path; on slippery ice the moves most likely to reach the goal, later turns included. */
function advise({ state, turn }: ExpertContext<FrozenLakeTask, FrozenLakeState>, options: FrozenLakeOptions) {
  const { style, isSlippery, actionsPerTurn, maxActions, turns } = options;
  if (!isSlippery) {
    const path = shortestPath(state, state.position);
    return path === undefined ? undefined : writeMoves(path.slice(0, actionsPerTurn), style);
  }
  // fewer moves in a turn are better on ice, as long as the turns suffice; more than 3 take too long to plan
  const movesPerTurn = Math.min(actionsPerTurn, Math.ceil(maxActions / turns), 3);
  const left = { turns: Math.max(1, turns - turn), actions: state.actionsLeft };
  return writeMoves(planOnIce(state, state.position, left, movesPerTurn).moves, style);
}

const symbols = {
  tags: { player: "P", inHole: "X", atGoal: "√" },
  // one byte each
  compact: { player: "P", inHole: "X", atGoal: "*" },
};

function draw({ size, cells, position }: FrozenLakeState, style: Style, separator: string): string {
  const { player, inHole, atGoal } = symbols[style];
  const here = { _: player, O: inHole, G: atGoal }[cells[position] ?? "_"] ?? player;
  const drawn = [...cells].map((cell, index) => (index === position ? here : cell));
  return Array.from({ length: size }, (_, row) => drawn.slice(row * size, (row + 1) * size).join(separator)).join("\n");
}

function introduce({ isSlippery, actionsPerTurn }: FrozenLakeOptions): string {
  const ice = isSlippery ? " The ice is slippery: a move may carry you to either side of where you meant to go." : "";
  return describeGame({
    instruction:
      `You are solving the FrozenLake puzzle. Avoid the holes and go to the goal.${ice} ` +
      "Example answer format: <think>The goal is to the left and up, and no hole is between.</think>" +
      "<answer>Left || Up</answer>",
    symbols: { P: "player", _: "frozen", O: "hole", G: "goal", X: "player in hole", "√": "player on goal" },
    actions: moves,
    actionsPerTurn,
  });
}
