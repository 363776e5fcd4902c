import { hasTagFormat, type TagRule, tagContents } from "./format-tags.ts";
import { type BoundingBox, isPointInBox, type Point } from "./point-in-box.ts";

/** What a step of UI-R1 should be. Only a click has a box. */
export interface UiGold {
  action: string;
  box?: BoundingBox;
}

export interface UiR1Options {
  /** Factors from the model's screenshot to the original resolution. */
  scale: Point;
  tags: TagRule;
}

export interface UiR1Score {
  total: number;
  type: number;
  coordinate: number;
  format: number;
}

const defaults: UiR1Options = { scale: [1, 1], tags: "strict" };
const quotedAction = /['"]action['"]:\s*['"](\w+)['"]/;
const bareAction = /['"]action['"]:\s*(\w+)/;
const coordinates = /\[(\d{1,15}),\s*(\d{1,15})\]/;
// with the end of the text, what ^<think>.*?</think>\s*<answer>.*?</answer>$ matches, in linear time
const publishedStart = /^<think>.*?<\/think>\s*<answer>/s;

/** Action and point of the first `<answer>[{'action': …, 'coordinate': [x, y]}]</answer>`; either quotes will do. */
export function parseUiAction(text: string): { action: string | null; point: Point | null } {
  const answer = tagContents(text, "answer")[0] ?? "";
  const action = quotedAction.exec(answer) ?? bareAction.exec(answer);
  const point = coordinates.exec(answer);
  return {
    action: action?.[1] ?? null,
    point: point === null ? null : [Number(point[1]), Number(point[2])],
  };
}

/**
 * UI-R1 (arXiv 2503.21620): R_T + R_C + R_F, each 0 or 1. R_T: the action's type. R_C: for a click the point lies in the box,
 * for another right type 1. R_F: `<think>…</think><answer>…</answer>` and nothing else. What a scroll or a text says is not
 * scored. A click without a point gets nothing; the released code reads it as (0, 0).
 */
export function uiR1Score(text: string, gold: UiGold, options: Partial<UiR1Options> = {}): UiR1Score {
  const { scale, tags } = { ...defaults, ...options };
  const { action, point } = parseUiAction(text);
  const isWellFormed = tags === "strict" ? hasTagFormat(text, ["think", "answer"]) : hasPublishedFormat(text);
  const scaled: Point | null =
    point === null ? null : [Math.trunc(point[0] * scale[0]), Math.trunc(point[1] * scale[1])];
  return uiR1ActionScore({ action, point: scaled, isWellFormed }, gold);
}

function hasPublishedFormat(text: string): boolean {
  const start = publishedStart.exec(text)?.[0].length;
  return start !== undefined && text.endsWith("</answer>") && start <= text.length - "</answer>".length;
}

/** An action that was read already; its point is in pixels of the original screen. */
export interface UiAction {
  action: string | null;
  point: Point | null;
  isWellFormed: boolean;
}

/** The same for an action that was read already. `pointed` are the actions whose point is scored. */
export function uiR1ActionScore(
  { action, point, isWellFormed }: UiAction,
  gold: UiGold,
  pointed: readonly string[] = ["click"],
): UiR1Score {
  const type = action === gold.action ? 1 : 0;
  const isHit = point !== null && gold.box !== undefined && isPointInBox(point, gold.box);
  const coordinate = type === 1 && (isHit || !pointed.includes(gold.action)) ? 1 : 0;
  const format = isWellFormed ? 1 : 0;
  return { total: type + coordinate + format, type, coordinate, format };
}
