import { type Move, moves, offsetOf } from "./moves.ts";

/** Cells are numbered row after row. The outermost are walls, so no step leaves the room. */
export interface Room {
  readonly width: number;
  readonly height: number;
  /** Whether one can stand there. */
  readonly floor: readonly boolean[];
  readonly targets: readonly number[];
  readonly boxes: readonly number[];
  readonly player: number;
}

/** The room after a move; the same object when nothing moved. */
export function push(room: Room, move: Move): Room {
  const { width, floor, boxes, player } = room;
  const offset = offsetOf(move, width);
  const next = player + offset;
  if (floor[next] !== true) return room;
  if (!boxes.includes(next)) return { ...room, player: next };
  const behind = next + offset;
  if (floor[behind] !== true || boxes.includes(behind)) return room;
  return { ...room, player: next, boxes: boxes.map((box) => (box === next ? behind : box)) };
}

export function boxesOnTarget({ boxes, targets }: Room): number {
  return boxes.filter((box) => targets.includes(box)).length;
}

export function isSolved(room: Room): boolean {
  return boxesOnTarget(room) === room.boxes.length;
}

/** The same for rooms that look the same: which box is which does not matter. */
export function keyOf({ width, height, boxes, player }: Room): number {
  return boxes.toSorted((a, b) => a - b).reduce((key, box) => key * width * height + box, player);
}

/** A shortest solution, by breadth-first search; nothing where there is none, or none was found among `maxRooms`. */
export function solve(start: Room, maxRooms = 300_000): Move[] | undefined {
  const seen = new Set([keyOf(start)]);
  const queue: Step[] = [{ room: start }];
  for (const step of queue) {
    if (isSolved(step.room)) return pathTo(step);
    if (queue.length > maxRooms) return undefined;
    for (const move of moves) {
      const room = push(step.room, move);
      if (room === step.room || seen.has(keyOf(room))) continue;
      seen.add(keyOf(room));
      if (!isStuck(room, move)) queue.push({ room, move, before: step });
    }
  }
  return undefined;
}

interface Step {
  readonly room: Room;
  readonly move?: Move;
  readonly before?: Step;
}

function pathTo(last: Step): Move[] {
  const path: Move[] = [];
  for (let step: Step | undefined = last; step?.move !== undefined; step = step.before) path.push(step.move);
  return path.reverse();
}

/** The box that was just pushed stands in a corner that is no target: nothing will ever move it. */
function isStuck({ width, floor, boxes, targets, player }: Room, move: Move): boolean {
  const box = player + offsetOf(move, width);
  if (!boxes.includes(box) || targets.includes(box)) return false;
  const isWall = (offset: number) => floor[box + offset] !== true;
  return (isWall(-1) || isWall(1)) && (isWall(-width) || isWall(width));
}

export interface Symbols {
  readonly wall: string;
  readonly empty: string;
  readonly target: string;
  readonly boxOnTarget: string;
  readonly box: string;
  readonly player: string;
  readonly playerOnTarget: string;
}

export function drawRoom({ width, height, floor, targets, boxes, player }: Room, symbols: Symbols): string {
  const symbolAt = (cell: number) => {
    if (floor[cell] !== true) return symbols.wall;
    const isTarget = targets.includes(cell);
    if (cell === player) return isTarget ? symbols.playerOnTarget : symbols.player;
    if (boxes.includes(cell)) return isTarget ? symbols.boxOnTarget : symbols.box;
    return isTarget ? symbols.target : symbols.empty;
  };
  const rows = Array.from({ length: height }, (_, row) =>
    Array.from({ length: width }, (_, column) => symbolAt(row * width + column)).join(""),
  );
  return rows.join("\n");
}

/** What `drawRoom` drew. */
export function readRoom(drawn: string, symbols: Symbols): Room {
  const rows = drawn.split("\n").map((row) => [...row]);
  const cells = rows.flat();
  const placesOf = (...kinds: string[]) => cells.flatMap((cell, index) => (kinds.includes(cell) ? [index] : []));
  return {
    width: rows[0].length,
    height: rows.length,
    floor: cells.map((cell) => cell !== symbols.wall),
    targets: placesOf(symbols.target, symbols.boxOnTarget, symbols.playerOnTarget),
    boxes: placesOf(symbols.box, symbols.boxOnTarget),
    player: placesOf(symbols.player, symbols.playerOnTarget)[0],
  };
}
