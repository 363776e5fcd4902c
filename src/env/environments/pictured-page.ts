import { type KnownOptions, refuseOtherValue, refuseUnknownOptions } from "../../known-options.ts";
import { plain } from "../../policy/formats/plain.ts";
import type { Rng } from "../../random.ts";
import { generated } from "../../task/generated.ts";
import { defineEnv } from "../define-env.ts";
import type { Env } from "../env.ts";
import { checkWholeOptions } from "./check-options.ts";
import { draw, pick } from "./draw.ts";

export interface PicturedPageOptions {
  /** What the policy is shown: the elements as text, with a picture of the page in characters, with a blank one, or the picture alone. */
  view: "text" | "both" | "blank" | "bitmap";
  elements: number;
  /** The picture in characters. */
  columns: number;
  rows: number;
  /** The share of tasks that name an element by its place, which the text leaves open. */
  openShare: number;
  seed: number;
}

const knownOptions: KnownOptions<PicturedPageOptions> = {
  view: true,
  elements: true,
  columns: true,
  rows: true,
  openShare: true,
  seed: true,
};

const defaults: PicturedPageOptions = { view: "both", elements: 4, columns: 4, rows: 4, openShare: 0.5, seed: 0 };

export interface PageElement {
  /** A letter, which text and picture both show. */
  readonly name: string;
  /** The text says so with a `*`; in the picture all look alike. */
  readonly isChecked: boolean;
  readonly row: number;
  readonly column: number;
}

export interface PicturedPageTask {
  readonly instruction: string;
  /** In the text's order, which says nothing about places. */
  readonly elements: readonly PageElement[];
  /** The name of the element that is meant. */
  readonly meant: string;
  /** Whether the text leaves open which element is meant. */
  readonly isOpen: boolean;
}

const names = [..."ABCDEFGHIJKLMNOPQRST"];
const places = ["top", "bottom", "left", "right"] as const;
const emptyCell = ".";

/**
 * A page of elements, one of which is to be clicked: its name is the answer. Half of the tasks ask for the one that is checked, which only the text tells; the
 * others for the one at a place (`top`, `bottom`, `left`, `right`), which only the picture shows. Success is the right name.
 */
export function picturedPage(options: Partial<PicturedPageOptions> = {}): Env<PicturedPageTask, undefined> {
  refuseUnknownOptions("picturedPage", options, knownOptions);
  const chosen = { ...defaults, ...options };
  const { view, elements, columns, rows, openShare, seed } = chosen;
  refuseOtherValue("picturedPage: view", view, ["text", "both", "blank", "bitmap"]);
  checkWholeOptions("pictured-page", {
    elements: [elements, 2, Math.min(rows, columns, 9)],
    columns: [columns, 2, 40],
    rows: [rows, 2, 40],
    "100 * openShare": [Math.round(100 * openShare), 0, 100],
  });
  return defineEnv<PicturedPageTask, undefined>({
    name: "pictured-page",
    description: "Click the element that is meant, by the text and the picture of a page",
    tasks: generated((rng) => makeTask(rng, chosen), {
      name: `pictured-page-${elements}-${columns}-${rows}-${openShare}`,
      seed,
      key: (task) => JSON.stringify(task),
    }),
    start: ({ task }) => ({ state: undefined, say: show(task, chosen) }),
    score: ({ task, answer }) => (answer.trim() === task.meant ? 1 : 0),
    expert: ({ task }) => task.meant,
    actions: ({ task }) => task.elements.map(({ name }) => name),
    limits: { turns: 1, turnTokens: 4 },
    format: plain(),
  });
}

/** Elements are in rows and columns of their own, so that there is one topmost and one leftmost. */
function makeTask(rng: Rng, { elements: count, columns, rows, openShare }: PicturedPageOptions): PicturedPageTask {
  const upTo = (end: number) => Array.from({ length: end }, (_, index) => index);
  const [inRows, inColumns] = [draw(rng, upTo(rows), count), draw(rng, upTo(columns), count)];
  const checked = rng.integer(count);
  const elements = draw(rng, names, count).map((name, index): PageElement => {
    return { name, isChecked: index === checked, row: inRows[index], column: inColumns[index] };
  });
  const isOpen = rng.next() < openShare;
  const place = pick(rng, places);
  if (!isOpen) return { instruction: "checked", elements, meant: elements[checked].name, isOpen };
  return { instruction: place, elements, meant: at(place, elements).name, isOpen };
}

function at(place: (typeof places)[number], elements: readonly PageElement[]): PageElement {
  const sorted = elements.toSorted((a, b) =>
    place === "top" || place === "bottom" ? a.row - b.row : a.column - b.column,
  );
  return place === "top" || place === "left" ? sorted[0] : sorted[sorted.length - 1];
}

/** What is asked comes last: whoever reads from left to right knows the page by then. */
function show({ instruction, elements }: PicturedPageTask, { view, columns, rows }: PicturedPageOptions): string {
  const text = elements.map(({ name, isChecked }) => `${name}${isChecked ? "*" : ""}`);
  const cells = Array.from({ length: rows }, () => Array<string>(columns).fill(emptyCell));
  if (view !== "blank") for (const { row, column, name } of elements) cells[row][column] = name;
  const picture = cells.map((row) => row.join(""));
  return [...(view === "bitmap" ? [] : text), ...(view === "text" ? [] : picture), instruction].join("\n");
}
