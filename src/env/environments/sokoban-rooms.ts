import { LudusError } from "../../errors.ts";
import type { Rng } from "../../random.ts";
import { moves, offsetOf } from "./moves.ts";
import { boxesOnTarget, keyOf, type Room } from "./sokoban-rules.ts";

export interface RoomOptions {
  readonly width: number;
  readonly height: number;
  readonly boxes: number;
  /** How many moves are played backwards at most. */
  readonly searchDepth: number;
}

/** Shapes that the walk opens, around where it stands; 3 × 3, row after row. */
const masks = ["000111000", "010010010", "000110010", "000110110", "000011010"];
const turnProbability = 0.35;
const maxStates = 300_000;
const maxDraws = 1_000;

/**
 * A room that can be solved, made as gym-sokoban and RAGEN make them: a random walk opens the floor, boxes are put on
 * targets, and the game is played backwards to where it looks hardest. Then the player, who would always end beside a box,
 * walks up to three steps.
 */
export function makeRoom(rng: Rng, options: RoomOptions): Room {
  for (let i = 0; i < maxDraws; i++) {
    const solved = placeThings(rng, openFloor(rng, options), options);
    const hardest = solved === undefined ? undefined : playBackwards(solved, options.searchDepth);
    if (hardest !== undefined) return wander(rng, hardest);
  }
  throw new LudusError("no-task", {
    got: `${maxDraws} rooms of ${options.width} × ${options.height} with no place to pull ${options.boxes} boxes to`,
    expected: "a solvable room",
    hint: "Make the room larger or take fewer boxes.",
  });
}

/** gym-sokoban walks 1.7 steps for each cell of width and height. */
function openFloor(rng: Rng, { width, height }: RoomOptions): boolean[] {
  const floor = new Array<boolean>(width * height).fill(false);
  const directions = [
    [0, 1],
    [1, 0],
    [0, -1],
    [-1, 0],
  ] as const;
  const inside = (value: number, length: number) => Math.min(Math.max(value, 1), length - 2);
  let direction = directions[rng.integer(4)];
  let row = 1 + rng.integer(height - 2);
  let column = 1 + rng.integer(width - 2);
  for (let step = 0; step < Math.floor(1.7 * (width + height)); step++) {
    if (rng.next() < turnProbability) direction = directions[rng.integer(4)];
    row = inside(row + direction[0], height);
    column = inside(column + direction[1], width);
    const mask = masks[rng.integer(masks.length)];
    for (let cell = 0; cell < 9; cell++) {
      const [y, x] = [row - 1 + Math.floor(cell / 3), column - 1 + (cell % 3)];
      const isInside = y === inside(y, height) && x === inside(x, width);
      if (mask[cell] === "1" && isInside) floor[y * width + x] = true;
    }
  }
  return floor;
}

/** Player and boxes, each box on its target; nothing where there is too little floor. */
function placeThings(rng: Rng, floor: readonly boolean[], { width, height, boxes }: RoomOptions): Room | undefined {
  const free = floor.flatMap((isFloor, cell) => (isFloor ? [cell] : []));
  if (free.length <= boxes) return undefined;
  const take = () => free.splice(rng.integer(free.length), 1)[0];
  const player = take();
  const targets = Array.from({ length: boxes }, take);
  return { width, height, floor, targets, boxes: targets, player };
}

/**
 * Depth first, over single steps and pulls, to the room with the highest product of box changes (how often another box was
 * pulled than before) and displacement (how far boxes are from where they started). Only rooms with every target empty count.
 */
function playBackwards(solved: Room, searchDepth: number): Room | undefined {
  const seen = new Set<number>();
  let best: { readonly room: Room; readonly score: number } | undefined;

  function explore(room: Room, changes: number, lastBox: number, left: number): void {
    const key = keyOf(room);
    if (left <= 0 || seen.size >= maxStates || seen.has(key)) return;
    seen.add(key);
    const score = changes * displacement(room);
    const isOpen = boxesOnTarget(room) === 0 && !room.targets.includes(room.player);
    if (isOpen && score > (best?.score ?? 0)) best = { room, score };
    for (const pulls of [true, false]) {
      for (const move of moves) {
        const offset = offsetOf(move, room.width);
        const player = room.player + offset;
        if (room.floor[player] !== true || room.boxes.includes(player)) continue;
        const pulled = pulls ? room.boxes.indexOf(room.player - offset) : -1;
        const boxes = pulled < 0 ? room.boxes : room.boxes.with(pulled, room.player);
        const isChange = pulled >= 0 && pulled !== lastBox;
        explore({ ...room, player, boxes }, changes + (isChange ? 1 : 0), pulled < 0 ? lastBox : pulled, left - 1);
      }
    }
  }

  explore(solved, 0, -1, searchDepth);
  return best?.room;
}

/** Boxes keep their places in the list while the game is played backwards, so each is measured from its own target. */
function displacement({ width, boxes, targets }: Room): number {
  const distance = (a: number, b: number) =>
    Math.abs((a % width) - (b % width)) + Math.abs(Math.floor(a / width) - Math.floor(b / width));
  return boxes.reduce((sum, box, index) => sum + distance(box, targets[index]), 0);
}

function wander(rng: Rng, room: Room): Room {
  if (rng.next() >= (displacement(room) === 1 ? 0.8 : 0.5)) return room;
  const been = [room.player];
  for (let step = 0; step < 3 && (step === 0 || rng.next() < 0.5); step++) {
    const free = moves
      .map((move) => been.at(-1)! + offsetOf(move, room.width))
      .filter((cell) => room.floor[cell] === true && !room.boxes.includes(cell) && !been.includes(cell));
    if (free.length === 0) break;
    been.push(free[rng.integer(free.length)]);
  }
  return { ...room, player: been.at(-1)! };
}
