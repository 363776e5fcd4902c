import { z } from "zod";
import { parseBoundedJson } from "../../bounded-json.ts";
import { defined } from "../../defined.ts";
import type { Point } from "../../scorer/point-in-box.ts";
import type { Style } from "./moves.ts";

export const directions = ["up", "down"] as const;
export type Direction = (typeof directions)[number];
export type Vocabulary = "ui-r1" | "computer-use";

/** An action as it was said. Points are those of the shown screen, or of the screen itself once they were mapped back. */
export interface ScreenAction {
  readonly name: string;
  readonly point?: Point;
  /** Where a drag or a region begins. */
  readonly start?: Point;
  readonly direction?: Direction;
  /** Of a scroll: rows. Of a wait or a held key: seconds. */
  readonly amount?: number;
  readonly text?: string;
}

type Part = "start" | "point" | "point?" | "direction" | "amount" | "text";

/** What each action takes, in the order of compact style. Clicks without a point are where the cursor is. */
const shapes: Readonly<Record<Vocabulary, Readonly<Record<string, readonly Part[]>>>> = {
  "ui-r1": {
    click: ["point"],
    open_app: ["text"],
    scroll: ["direction"],
    navigate_back: [],
    input_text: ["text"],
  },
  "computer-use": {
    key: ["text"],
    type: ["text"],
    mouse_move: ["point"],
    left_click: ["point?"],
    left_click_drag: ["start", "point"],
    right_click: ["point?"],
    middle_click: ["point?"],
    double_click: ["point?"],
    triple_click: ["point?"],
    left_mouse_down: [],
    left_mouse_up: [],
    scroll: ["point?", "direction", "amount"],
    hold_key: ["amount", "text"],
    wait: ["amount"],
    screenshot: [],
    cursor_position: [],
    zoom: ["start", "point"],
  },
};

/** In tags style, where an action is JSON: its name and its keys. */
export function describeActions(vocabulary: Vocabulary): string {
  return Object.entries(shapes[vocabulary])
    .map(([name, parts]) => {
      const keys = parts.map((part) => keyOf(part, name, vocabulary) + (part.endsWith("?") ? " (optional)" : ""));
      return keys.length === 0 ? name : `${name} with ${[...new Set(keys)].join(", ")}`;
    })
    .join("; ");
}

function keyOf(part: Part, name: string, vocabulary: Vocabulary): string {
  switch (part) {
    case "text":
      return "text";
    case "direction":
      return vocabulary === "ui-r1" ? "direction" : "scroll_direction";
    case "amount":
      return name === "scroll" ? "scroll_amount" : "duration";
    case "start":
      return name === "zoom" ? "region" : "start_coordinate";
    case "point":
    case "point?":
      return name === "zoom" ? "region" : "coordinate";
    default:
      return part satisfies never;
  }
}

/** Undefined where it is no action of the vocabulary, or lacks something that the action needs. */
export function readAction(answer: string, style: Style, vocabulary: Vocabulary): ScreenAction | undefined {
  const action = style === "tags" ? readJson(answer) : readWords(answer, vocabulary);
  const parts = action === undefined ? undefined : partsOf(action.name, vocabulary);
  if (action === undefined || parts === undefined) return undefined;
  const isWhole = parts.every((part) => part === "point?" || action[part] !== undefined);
  return isWhole ? action : undefined;
}

function partsOf(name: string, vocabulary: Vocabulary): readonly Part[] | undefined {
  return Object.hasOwn(shapes[vocabulary], name) ? shapes[vocabulary][name] : undefined;
}

const pixel = z.int().min(0);
const said = z.object({
  action: z.string(),
  coordinate: z.tuple([pixel, pixel]).optional(),
  start_coordinate: z.tuple([pixel, pixel]).optional(),
  region: z.tuple([pixel, pixel, pixel, pixel]).optional(),
  direction: z.enum(directions).optional(),
  scroll_direction: z.enum(directions).optional(),
  scroll_amount: z.number().min(0).optional(),
  duration: z.number().min(0).optional(),
  text: z.string().optional(),
});

/** An object, or the first of a list of them, in the quotes of JSON or, as UI-R1 writes it, of Python. */
function readJson(answer: string): ScreenAction | undefined {
  const value = parse(answer) ?? parse(answer.replaceAll("'", '"'));
  const read = said.safeParse(Array.isArray(value) ? value[0] : value);
  if (!read.success) return undefined;
  const { action, coordinate, start_coordinate, region, text, duration, ...scroll } = read.data;
  const start = start_coordinate ?? (region && [region[0], region[1]]);
  const point = coordinate ?? (region && [region[2], region[3]]);
  const direction = scroll.scroll_direction ?? scroll.direction;
  const amount = scroll.scroll_amount ?? duration;
  return {
    name: action,
    ...defined({ point, start, direction, amount, text }),
  };
}

function parse(text: string): unknown {
  try {
    return parseBoundedJson(text);
  } catch {
    return undefined;
  }
}

/** `click 12 30`, `scroll down`, `input_text hello`. */
function readWords(answer: string, vocabulary: Vocabulary): ScreenAction | undefined {
  const [name = "", ...words] = answer.trim().split(/\s+/);
  const parts = partsOf(name, vocabulary);
  if (parts === undefined) return undefined;
  const action: { -readonly [Key in keyof ScreenAction]: ScreenAction[Key] } = { name };
  for (const part of parts) {
    if (part === "text") {
      if (words.length > 0) action.text = words.splice(0).join(" ");
    } else if (part === "direction") {
      const direction = directions.find((each) => each === words[0]);
      if (direction !== undefined) action.direction = direction;
      words.shift();
    } else if (part === "amount") {
      const amount = wholeNumber(words.shift());
      if (amount !== undefined) action.amount = amount;
    } else {
      const [x, y] = [wholeNumber(words[0]), wholeNumber(words[1])];
      if (x === undefined || y === undefined) continue;
      action[part === "start" ? "start" : "point"] = [x, y];
      words.splice(0, 2);
    }
  }
  return words.length === 0 ? action : undefined;
}

function wholeNumber(word: string | undefined): number | undefined {
  return word !== undefined && /^\d{1,6}$/.test(word) ? Number(word) : undefined;
}

/** What an expert says; `readAction` gives the action back. */
export function writeAction(action: ScreenAction, style: Style, vocabulary: Vocabulary): string {
  const { name, start } = action;
  const given = partsOf(name, vocabulary)!.flatMap((part) => {
    const value = action[part === "point?" ? "point" : part];
    return value === undefined ? [] : [{ part, value }];
  });
  if (style === "compact") return [name, ...given.flatMap(({ value }) => value)].join(" ");
  const fields = given.map(({ part, value }): [string, unknown] => {
    const key = keyOf(part, name, vocabulary);
    return [key, key === "region" ? [start, action.point].flat() : value];
  });
  const text = JSON.stringify({ action: name, ...Object.fromEntries(fields) });
  return vocabulary === "ui-r1" ? `[${text}]` : text;
}
