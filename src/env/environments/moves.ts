import type { Rng } from "../../random.ts";

/** In Gymnasium's order: neighbours in this list are perpendicular, which is what slippery ice needs. */
export const moves = ["Left", "Down", "Right", "Up"] as const;
export type Move = (typeof moves)[number];

/** How an environment writes: `tags` with the published prompts, `compact` with as few characters as possible. */
export type Style = "tags" | "compact";

const words = new Map<string, Move>(moves.map((move) => [move.toLowerCase(), move]));
const letters = new Map<string, Move>(moves.map((move) => [move[0], move]));

/**
 * Several moves of one turn: `Up || Left`, or `UL` in compact style. As in RAGEN, moves beyond `most` are dropped silently,
 * and what is not a move is skipped. `areAllMoves` is false where there is no move at all.
 */
export function readMoves(answer: string, style: Style, most: number): { moves: Move[]; areAllMoves: boolean } {
  const said = style === "tags" ? answer.split("||").map((word) => word.trim()) : [...answer.replace(/\s+/g, "")];
  const kept = said.filter((each) => each !== "").slice(0, most);
  const read = kept.flatMap(
    (each) => (style === "tags" ? words.get(each.toLowerCase()) : letters.get(each.toUpperCase())) ?? [],
  );
  return { moves: read, areAllMoves: read.length > 0 && read.length === kept.length };
}

export function writeMoves(said: readonly Move[], style: Style): string {
  return style === "tags" ? said.join(" || ") : said.map((move) => move[0]).join("");
}

/** What may be said in a turn of several moves, of which there are too many to list: some drawn at random. */
export function drawMoves(rng: Rng, most: number, style: Style): string[] {
  return Array.from({ length: drawnTurns }, () =>
    writeMoves(
      Array.from({ length: 1 + rng.integer(most) }, () => moves[rng.integer(moves.length)]),
      style,
    ),
  );
}

const drawnTurns = 8;

/** What a move adds to the index of a cell, in a grid whose rows are `width` long. */
export function offsetOf(move: Move, width: number): number {
  switch (move) {
    case "Left":
      return -1;
    case "Down":
      return width;
    case "Right":
      return 1;
    case "Up":
      return -width;
    default:
      return move satisfies never;
  }
}
