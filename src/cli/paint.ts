import { styleText } from "node:util";
import type { Screen } from "./command.ts";

export type Colour = "bold" | "dim" | "green" | "red" | "yellow" | "cyan";
export type Paint = (colour: Colour, text: string) => string;

/** Colours on a terminal, plain text in files and pipes; `NO_COLOR` is respected. */
export function paintFor({ isTTY }: Screen): Paint {
  const isPlain = isTTY !== true || (process.env.NO_COLOR ?? "") !== "";
  return isPlain ? (_, text) => text : (colour, text) => styleText(colour, text, { validateStream: false });
}

/** What others wrote, with what could take over a terminal made visible: escape codes and their like. */
export function harmless(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}
