/** A stretch of one line in one style. */
export interface Run {
  readonly text: string;
  readonly style: string;
}

export type Line = readonly Run[];

interface Cell {
  readonly character: string;
  readonly style: string;
}

const escapeCode = "\u001b";
/** Sequences that move, erase or colour; titles of windows; ends of lines. */
const controls = new RegExp(`(${escapeCode}\\[[\\d;?]*[A-Za-z]|${escapeCode}\\][^\u0007]*\u0007|\\r|\\n)`);
const sequences = new RegExp(`^${escapeCode}\\[([\\d;?]*)([A-Za-z])$`);

const colours = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];

/** What a terminal would show: as much of its language as programs of ours and npm speak. Nothing scrolls out of it. */
export class TerminalScreen {
  readonly #rows: Cell[][] = [[]];
  #row = 0;
  #column = 0;
  #style = "";
  /** The beginning of an escape sequence whose end has not come yet. */
  #rest = "";

  write(text: string): void {
    const pieces = (this.#rest + text).split(controls);
    const last = pieces.at(-1)!;
    const open = last.lastIndexOf(escapeCode);
    this.#rest = open >= 0 ? last.slice(open) : "";
    if (open >= 0) pieces[pieces.length - 1] = last.slice(0, open);
    for (const piece of pieces) this.#piece(piece);
  }

  lines(): readonly Line[] {
    const rows = this.#rows.map(toRuns);
    while (rows.length > 0 && rows.at(-1)!.length === 0) rows.pop();
    return rows;
  }

  #piece(piece: string): void {
    const sequence = sequences.exec(piece);
    if (sequence !== null) this.#control(sequence[1], sequence[2]);
    else if (piece === "\r") this.#column = 0;
    else if (piece === "\n") this.#down(1);
    else if (!piece.startsWith(escapeCode)) for (const character of piece) this.#put(character);
  }

  #put(character: string): void {
    const row = this.#rows[this.#row];
    while (row.length < this.#column) row.push({ character: " ", style: "" });
    row[this.#column++] = { character, style: this.#style };
  }

  #down(count: number): void {
    this.#row += count;
    while (this.#rows.length <= this.#row) this.#rows.push([]);
  }

  #control(parameters: string, command: string): void {
    const count = Number(parameters.split(";")[0]) || 1;
    if (command === "A") this.#row = Math.max(0, this.#row - count);
    else if (command === "B") this.#down(count);
    else if (command === "C") this.#column += count;
    else if (command === "D") this.#column = Math.max(0, this.#column - count);
    else if (command === "G") this.#column = count - 1;
    else if (command === "K") this.#eraseLine(parameters);
    else if (command === "J") this.#eraseBelow();
    else if (command === "m") this.#setStyle(parameters);
  }

  #eraseLine(parameters: string): void {
    if (parameters === "2") this.#rows[this.#row] = [];
    else this.#rows[this.#row].length = Math.min(this.#rows[this.#row].length, this.#column);
  }

  #eraseBelow(): void {
    this.#eraseLine("");
    this.#rows.length = this.#row + 1;
  }

  #setStyle(parameters: string): void {
    for (const code of parameters.split(";").map(Number)) {
      const colour = colours[(code >= 90 ? code - 90 : code - 30) as number];
      if (code === 0) this.#style = "";
      else if (code === 1) this.#style = `${this.#style} bold`.trim();
      else if (code === 2) this.#style = `${this.#style} dim`.trim();
      else if (code === 39) this.#style = this.#style.replace(/\b(?!bold|dim)\w+/g, "").trim();
      else if (colour !== undefined) this.#style = colour;
    }
  }
}

function toRuns(row: readonly Cell[]): Run[] {
  const runs: { text: string; style: string }[] = [];
  for (const { character, style } of row) {
    const last = runs.at(-1);
    if (last !== undefined && last.style === style) last.text += character;
    else runs.push({ text: character, style });
  }
  const end = runs.at(-1);
  if (end !== undefined) end.text = end.text.trimEnd();
  return runs.filter(({ text }) => text !== "");
}
