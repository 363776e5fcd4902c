import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import { plain } from "../../policy/formats/plain.ts";
import type { Rng } from "../../random.ts";
import { generated } from "../../task/generated.ts";
import { defineEnv } from "../define-env.ts";
import type { Env } from "../env.ts";
import { checkWholeOptions } from "./check-options.ts";
import { draw } from "./draw.ts";
import { type Move, moves, offsetOf } from "./moves.ts";

export interface CraftGridOptions {
  /** Cells of a side. */
  size: number;
  turns: number;
  seed: number;
}

const knownOptions: KnownOptions<CraftGridOptions> = { size: true, turns: true, seed: true };
const defaults: CraftGridOptions = { size: 4, turns: 20, seed: 0 };

/** Where things are, as cells counted row by row. */
export interface CraftGridTask {
  readonly player: number;
  /** Tree, workbench and ore, in the order in which they are needed. */
  readonly places: readonly [number, number, number];
}

export interface CraftGridState {
  readonly places: CraftGridTask["places"];
  player: number;
  /** How many of the three are done: 0 nothing, 1 wood, 2 a pickaxe, 3 the diamond. */
  made: number;
}

const letters = "TWD";
const use = "A";

/**
 * A chain of crafting: wood from the tree, a pickaxe at the workbench, the diamond with it. A turn is a step (`L`, `D`, `R`, `U`) or a use (`A`) of what the
 * player `P` stands on, which is then drawn in a small letter. The last line counts what is made. Nothing but the diamond counts.
 */
export function craftGrid(options: Partial<CraftGridOptions> = {}): Env<CraftGridTask, CraftGridState> {
  refuseUnknownOptions("craftGrid", options, knownOptions);
  const { size, turns, seed } = { ...defaults, ...options };
  checkWholeOptions("craft-grid", { size: [size, 2, 16], turns: [turns, 1, 1000] });
  return defineEnv<CraftGridTask, CraftGridState>({
    name: "craft-grid",
    description: "Wood, a pickaxe, a diamond: a chain of crafting on a grid",
    tasks: generated(
      (rng) => {
        const cells = Array.from({ length: size * size }, (_, cell) => cell);
        const [player, tree, bench, ore] = draw(rng, cells, 4);
        return { player, places: [tree, bench, ore] };
      },
      { name: `craft-grid-${size}`, seed, key: ({ player, places }) => [player, ...places].join(" ") },
    ),
    start({ task: { player, places } }) {
      const state: CraftGridState = { player, places, made: 0 };
      return { state, say: frame(state, size) };
    },
    act({ state, answer }) {
      const said = answer.trim().toUpperCase();
      const move = moves.find((each) => each[0] === said);
      if (move !== undefined) state.player = stepped(state.player, move, size);
      if (said === use && state.places[state.made] === state.player) state.made++;
      const isDone = state.made === state.places.length;
      return { say: frame(state, size), done: isDone, info: { isValid: move !== undefined || said === use } };
    },
    score: ({ state }) => (state.made === state.places.length ? 1 : 0),
    expert: ({ state, rng }) => nextAction(state, size, rng),
    actions: () => [...moves.map((move) => move[0]), use],
    stateKey: (state) => frame(state, size),
    limits: { turns, turnTokens: 3, tokens: 3 * turns },
    format: plain(),
  });
}

/** Into a wall nothing moves. */
function stepped(cell: number, move: Move, size: number): number {
  const isAtWall = {
    Left: cell % size === 0,
    Right: cell % size === size - 1,
    Up: cell < size,
    Down: cell >= size * (size - 1),
  };
  return isAtWall[move] ? cell : cell + offsetOf(move, size);
}

/** One of the shortest ways, drawn step by step: what comes next cannot be told for certain, what was done can. */
function nextAction({ player, places, made }: CraftGridState, size: number, rng: Rng): string {
  const target = places[made];
  const [right, down] = [(target % size) - (player % size), Math.floor(target / size) - Math.floor(player / size)];
  if (right === 0 && down === 0) return use;
  const isAcross = right !== 0 && (down === 0 || rng.next() < 0.5);
  if (isAcross) return right > 0 ? "R" : "L";
  return down > 0 ? "D" : "U";
}

function frame({ player, places, made }: CraftGridState, size: number): string {
  const cells = Array<string>(size * size).fill(".");
  for (const [index, place] of places.entries()) if (index >= made) cells[place] = letters[index];
  cells[player] = cells[player] === "." ? "P" : cells[player].toLowerCase();
  const rows = Array.from({ length: size }, (_, row) => cells.slice(row * size, (row + 1) * size).join(""));
  return [...rows, `${made}`].join("\n");
}
