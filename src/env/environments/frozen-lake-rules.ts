import type { Rng } from "../../random.ts";
import { type Move, moves } from "./moves.ts";

/** A square lake without its player. Cells are `_` frozen, `O` hole, `G` goal, row after row. */
export interface Lake {
  readonly size: number;
  readonly cells: string;
}

/** A move towards the shore stays where it is. */
export function slide({ size }: Lake, position: number, move: Move): number {
  const row = Math.floor(position / size);
  const column = position % size;
  switch (move) {
    case "Left":
      return column > 0 ? position - 1 : position;
    case "Down":
      return row < size - 1 ? position + size : position;
    case "Right":
      return column < size - 1 ? position + 1 : position;
    case "Up":
      return row > 0 ? position - size : position;
    default:
      return move satisfies never;
  }
}

/** Where slippery ice may carry a move: as meant or to either side, each as likely, never back. */
export function slips(move: Move): readonly Move[] {
  const index = moves.indexOf(move);
  return [moves[(index + 3) % 4], move, moves[(index + 1) % 4]];
}

/** The shortest path to the goal that avoids holes; undefined where there is none. */
export function shortestPath(lake: Lake, start: number): Move[] | undefined {
  const paths = new Map<number, Move[]>([[start, []]]);
  // a Map iterates in insertion order, including entries added during iteration
  for (const [position, path] of paths) {
    if (lake.cells[position] === "G") return path;
    if (lake.cells[position] === "O") continue;
    for (const move of moves) {
      const next = slide(lake, position, move);
      if (!paths.has(next)) paths.set(next, [...path, move]);
    }
  }
  return undefined;
}

export interface Plan {
  readonly moves: readonly Move[];
  /** Of reaching the goal, when every later turn is planned as well. */
  readonly chance: number;
}

/**
 * Value iteration over position, turns left and actions left, on slippery ice. The moves of one turn are chosen together,
 * before it is known where the first of them led; `movesPerTurn` says how many to consider (the cost is 12 to its power).
 */
export function planOnIce(
  lake: Lake,
  start: number,
  left: { readonly turns: number; readonly actions: number },
  movesPerTurn: number,
): Plan {
  const known = new Map<number, Plan>();
  const said = sequences(movesPerTurn);
  const outcomes = Array.from(lake.cells, (_, position) => {
    const outcomesOf = (move: Move) => slips(move).map((slip) => slide(lake, position, slip));
    return { Left: outcomesOf("Left"), Down: outcomesOf("Down"), Right: outcomesOf("Right"), Up: outcomesOf("Up") };
  });

  function plan(position: number, turns: number, actions: number): Plan {
    if (lake.cells[position] === "G") return arrived;
    if (lake.cells[position] === "O" || turns === 0 || actions === 0) return lost;
    const key = (turns * (left.actions + 1) + actions) * lake.cells.length + position;
    let best = known.get(key);
    if (best !== undefined) return best;
    best = { moves: ["Left"], chance: -1 };
    for (const sequence of said) {
      if (sequence.length > actions) break;
      const chance = chanceOf(sequence, 0, position, turns - 1, actions - sequence.length);
      // shorter sequences come first: a longer one must be better by more than rounding
      if (chance > best.chance + 1e-9) best = { moves: sequence, chance };
    }
    known.set(key, best);
    return best;
  }

  function chanceOf(
    sequence: readonly Move[],
    index: number,
    position: number,
    turns: number,
    actions: number,
  ): number {
    if (index === sequence.length || lake.cells[position] !== "_") return plan(position, turns, actions).chance;
    let sum = 0;
    for (const next of outcomes[position][sequence[index]]) {
      sum += chanceOf(sequence, index + 1, next, turns, actions);
    }
    return sum / 3;
  }

  return plan(start, left.turns, left.actions);
}

const arrived: Plan = { moves: [], chance: 1 };
const lost: Plan = { moves: [], chance: 0 };

/** Every sequence of one to `most` moves, shorter ones first. */
function sequences(most: number): Move[][] {
  const all: Move[][] = [];
  let last: Move[][] = [[]];
  for (let length = 1; length <= most; length++) {
    last = last.flatMap((said) => moves.map((move) => [...said, move]));
    all.push(...last);
  }
  return all;
}

/** A lake whose goal can be reached, within `maxPath` moves where that is said; undefined where this draw is not one. */
export function drawLake(
  rng: Rng,
  { size, frozenProbability, maxPath }: { size: number; frozenProbability: number; maxPath: number },
): { lake: Lake; start: number } | undefined {
  const cells = Array.from({ length: size * size }, (): string => (rng.next() < frozenProbability ? "_" : "O"));
  const start = rng.integer(cells.length);
  const goal = (start + 1 + rng.integer(cells.length - 1)) % cells.length;
  cells[start] = "_";
  cells[goal] = "G";
  const lake = { size, cells: cells.join("") };
  const path = shortestPath(lake, start);
  return path !== undefined && path.length <= maxPath ? { lake, start } : undefined;
}
