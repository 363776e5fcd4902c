import { type BoundingBox, isPointInBox } from "../../scorer/point-in-box.ts";
import type { FormElement, FormTask } from "./mini-form-tasks.ts";

export interface MiniFormsState {
  readonly task: FormTask;
  readonly texts: Record<string, string>;
  readonly chosen: Set<number>;
  readonly open: Set<number>;
  focus: number | undefined;
  end: "won" | "lost" | undefined;
}

export type Step =
  | { readonly do: "click"; readonly ref: number }
  | { readonly do: "point"; readonly x: number; readonly y: number }
  | { readonly do: "fill"; readonly ref: number; readonly text: string }
  | { readonly do: "type"; readonly text: string }
  | { readonly do: "key"; readonly key: string };

/** Performs one step; invalid steps change nothing. */
export function take(state: MiniFormsState, step: Step): void {
  const shown = shownElements(state);
  switch (step.do) {
    case "click":
      click(
        state,
        shown.find(({ ref }) => ref === step.ref),
      );
      return;
    case "point":
      click(
        state,
        shown.find((_, index) => isPointInBox([step.x, step.y], boxOf(shown, index))),
      );
      return;
    case "fill": {
      const field = shown.find(({ ref, tag }) => ref === step.ref && tag === "input");
      click(state, field);
      if (field !== undefined) enter(state, () => step.text);
      return;
    }
    case "type":
      enter(state, (before) => before + step.text);
      return;
    case "key":
      if (step.key === "Backspace") enter(state, (before) => before.slice(0, -1));
      return;
    default:
      step satisfies never;
  }
}

function click(state: MiniFormsState, element: FormElement | undefined): void {
  if (element === undefined) return;
  const { ref, tag } = element;
  state.focus = tag === "input" ? ref : undefined;
  if (state.task.ends.includes(ref)) state.end = isFilledIn(state) ? "won" : "lost";
  else if (tag === "button" || tag === "file") state.end = "lost";
  else if (tag === "folder") toggle(state.open, ref);
  else if (tag === "checkbox") toggle(state.chosen, ref);
  else if (tag === "option") {
    state.chosen.clear();
    state.chosen.add(ref);
  }
}

function toggle(set: Set<number>, ref: number): void {
  if (!set.delete(ref)) set.add(ref);
}

const maxTextChars = 100;

function enter({ texts, focus }: MiniFormsState, change: (before: string) => string): void {
  if (focus !== undefined) texts[focus] = change(texts[focus] ?? "").slice(0, maxTextChars);
}

function isFilledIn({ task, texts, chosen }: MiniFormsState): boolean {
  const areTextsRight = Object.entries(task.texts).every(([ref, text]) => texts[ref] === text);
  return areTextsRight && chosen.size === task.chosen.length && task.chosen.every((ref) => chosen.has(ref));
}

export function shownElements({ task: { elements }, open }: MiniFormsState): FormElement[] {
  const isShown = ({ folder }: FormElement): boolean =>
    folder === undefined || (open.has(folder) && isShown(elements.find(({ ref }) => ref === folder)!));
  return elements.filter(isShown);
}

/** Of a page of 160 by 210 pixels whose first 50 rows are the instruction; one element below the other. */
export function boxOf(shown: readonly FormElement[], index: number): BoundingBox {
  const { tag, text } = shown[index];
  const width = tag === "input" ? 120 : 16 + 8 * text.length;
  return [2, 52 + 17 * index, 2 + Math.min(width, 150), 52 + 17 * index + 14];
}
