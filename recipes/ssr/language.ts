import type { Rng } from "ludus";
import { drawTask } from "../programs.ts";

export type Source = readonly string[];

export const fileNames = ["f", "g"] as const;
export type FileName = (typeof fileNames)[number];
export type Sources = Readonly<Record<FileName, Source>>;

export interface Repository {
  /** What each line should do, as its comment. */
  readonly words: Readonly<Record<FileName, readonly string[]>>;
  readonly sources: Sources;
}

export function drawRepository(rng: Rng): Repository {
  const [f, g] = fileNames.map(() => drawTask(rng, [2]).steps);
  return {
    words: { f: f!.map(({ words }) => words), g: g!.map(({ words }) => words) },
    sources: { f: f!.map(({ line }) => line), g: g!.map(({ line }) => line) },
  };
}

/** One of the lines that programs are made of. */
export const drawLine = (rng: Rng): string => drawTask(rng, [1]).steps[0]!.line;

export interface Edit {
  readonly file: FileName;
  /** From 0. */
  readonly line: number;
  readonly text: string;
}

/** `f1>a=a+3;g2>`: lines and what to put there, nothing for a line that is removed. Undefined where it is none, or names a line twice. */
export function readEdits(text: string): readonly Edit[] | undefined {
  const edits = text.split(";").map((each) => /^([fg])([12])>([^>; ]{0,12})$/.exec(each));
  if (edits.length > 4 || edits.includes(null)) return undefined;
  const read = edits.map((each) => ({ file: each![1] as FileName, line: Number(each![2]) - 1, text: each![3]! }));
  const places = new Set(read.map(({ file, line }) => `${file}${line}`));
  return places.size === read.length ? read : undefined;
}

export function applyEdits(sources: Sources, edits: readonly Edit[]): Sources {
  const edited = { ...sources };
  for (const { file, line, text } of edits) edited[file] = edited[file].with(line, text);
  return edited;
}

/** With the words of its lines, and a name for each: `f1 double: a=a*2`. */
export function shown({ words }: Repository, sources: Sources): string {
  return fileNames
    .flatMap((file) => sources[file].map((line, i) => `${file}${i + 1} ${words[file][i]}: ${line}`))
    .join("\n");
}
