// Computer Use's actions by coordinates on a page in Chromium, and what an expert who knows elements does with them.

import type { Page } from "playwright-core";
import { ToolError } from "../../tool/tool.ts";
import type { ScreenAction } from "../environments/screen-actions.ts";
import type { DoAction } from "./do-actions.ts";
import { readSnapshot } from "./snapshot-view.ts";

type Point = readonly [number, number];

/** Pixels that one notch of a wheel scrolls. */
const notch = 100;
const maxWaitSeconds = 5;

/** What an action takes by itself, before the page does anything. */
export const durationMs = ({ name, amount = 0 }: ScreenAction): number =>
  name === "wait" || name === "hold_key" ? 1000 * Math.min(amount, maxWaitSeconds) : 0;

const keys: Readonly<Record<string, string>> = {
  return: "Enter",
  ctrl: "Control",
  alt: "Alt",
  shift: "Shift",
  super: "Meta",
  backspace: "Backspace",
  escape: "Escape",
  space: " ",
  page_down: "PageDown",
  page_up: "PageUp",
  up: "ArrowUp",
  down: "ArrowDown",
  left: "ArrowLeft",
  right: "ArrowRight",
};

/** `ctrl+a` in the names of xdotool, as Playwright writes it. */
export function keyOf(text: string): string {
  return text
    .split("+")
    .map((name) => keys[name.toLowerCase()] ?? name)
    .join("+");
}

/** Does one action; returns where the cursor is then. */
export async function performOn(
  { mouse, keyboard, waitForTimeout }: PageHands,
  action: ScreenAction,
  cursor: Point,
): Promise<Point> {
  const [x, y] = action.point ?? cursor;
  const clicks: Readonly<Record<string, { button?: "right" | "middle"; clickCount?: number }>> = {
    left_click: {},
    right_click: { button: "right" },
    middle_click: { button: "middle" },
    double_click: { clickCount: 2 },
    triple_click: { clickCount: 3 },
  };
  if (Object.hasOwn(clicks, action.name)) {
    await mouse.click(x, y, clicks[action.name]);
    return [x, y];
  }
  switch (action.name) {
    case "mouse_move":
      await mouse.move(x, y);
      return [x, y];
    case "left_click_drag":
      await mouse.move(...(action.start ?? cursor));
      await mouse.down();
      await mouse.move(x, y, { steps: 4 });
      await mouse.up();
      return [x, y];
    case "left_mouse_down":
      await mouse.down();
      return cursor;
    case "left_mouse_up":
      await mouse.up();
      return cursor;
    case "scroll":
      await mouse.move(x, y);
      await mouse.wheel(0, (action.direction === "up" ? -1 : 1) * notch * (action.amount ?? 1));
      return [x, y];
    case "key":
      await keyboard.press(keyOf(action.text ?? ""));
      return cursor;
    case "hold_key":
      await keyboard.press(keyOf(action.text ?? ""), { delay: durationMs(action) });
      return cursor;
    case "type":
      await keyboard.type(action.text ?? "");
      return cursor;
    case "wait":
      await waitForTimeout(durationMs(action));
      return cursor;
    case "screenshot":
    case "cursor_position":
    case "zoom":
      return cursor;
    default:
      throw new ToolError(`### Error\nError: there is no action ${action.name}.`);
  }
}

export interface PageHands {
  readonly mouse: Page["mouse"];
  readonly keyboard: Page["keyboard"];
  waitForTimeout(ms: number): Promise<void>;
}

const boxOf = (line: string): readonly number[] | undefined =>
  /\[box=(-?[\d.]+),(-?[\d.]+),([\d.]+),([\d.]+)\]/.exec(line)?.slice(1).map(Number);

/** The lines of a snapshot whose boxes touch a region; a line without a box belongs to the one it is in. */
export function insideRegion(snapshot: string, start: Point, end: Point): string {
  const [[left, right], [top, bottom]] = [0, 1].map((axis) => [start[axis], end[axis]].sort((a, b) => a - b));
  const isIn: boolean[] = [];
  return snapshot
    .split("\n")
    .filter((line) => {
      const depth = /^ */.exec(line)![0].length / 2;
      const box = boxOf(line);
      const touches = ([x, y, width, height]: readonly number[]) =>
        x < right && x + width > left && y < bottom && y + height > top;
      isIn[depth] = box === undefined ? (isIn[depth - 1] ?? true) : touches(box);
      return isIn[depth];
    })
    .join("\n");
}

/** The middle of an element from its box in the snapshot. */
function middleOf(ref: string, snapshot: string): Point | undefined {
  const box = boxOf(snapshot.split("\n").find((text) => text.includes(`[ref=${ref}]`)) ?? "");
  if (box === undefined) return undefined;
  const [left, top, width, height] = box;
  return [Math.round(left + width / 2), Math.round(top + height / 2)];
}

/** What does the same as an action on an element, by coordinates: undefined for lists, and where nothing leads there. */
export function byCoordinates(action: DoAction, snapshot: string, height: number): ScreenAction | undefined {
  if ("answer" in action) return undefined;
  const elements = readSnapshot(snapshot);
  // there is no bar for addresses: the first link leads to a page that has more of them
  const ref =
    "target" in action
      ? action.target
      : action.tool === "browser_navigate"
        ? elements.find(({ role }) => role === "link")?.ref
        : undefined;
  const point = ref === undefined ? undefined : middleOf(ref, snapshot);
  if (ref === undefined || point === undefined || action.tool === "browser_select_option") return undefined;
  if (point[1] < 0 || point[1] >= height)
    return { name: "scroll", point: [100, 100], direction: point[1] < 0 ? "up" : "down", amount: 5 };
  if (action.tool !== "browser_type") return { name: "left_click", point };
  // three clicks choose what is written already, which is then written over
  const isActive = elements.find((element) => element.ref === ref)?.isActive;
  return isActive ? { name: "type", text: action.text } : { name: "triple_click", point };
}
