import { round } from "./svg.ts";

/** How a line is told from the others: by its colour, and by its marks where colours cannot be told apart. */
export interface Look {
  colour: string;
  mark(x: number, y: number): string;
}

// hues that can be read on white and on near-black paper alike
const looks: readonly Look[] = [
  look("#2f81d8", (x, y) => `<circle cx="${x}" cy="${y}" r="4"/>`),
  look("#d9772b", (x, y) => `<path d="M${x} ${round(y - 5)}l5 5l-5 5l-5-5z"/>`),
  look("#2a9d64", (x, y) => `<rect x="${round(x - 3.6)}" y="${round(y - 3.6)}" width="7.2" height="7.2"/>`),
];

function look(colour: string, shape: (x: number, y: number) => string): Look {
  return { colour, mark: (x, y) => `<g fill="${colour}">${shape(x, y)}</g>` };
}

/** The first name gets the first look, and so on. */
export function lookOf(names: readonly string[], name: string): Look {
  return looks[names.indexOf(name) % looks.length];
}
