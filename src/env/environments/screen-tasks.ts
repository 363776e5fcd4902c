import { defined } from "../../defined.ts";
import type { Rng } from "../../random.ts";
import { draw } from "./draw.ts";
import type { Style } from "./moves.ts";
import type { Vocabulary } from "./screen-actions.ts";
import { home, type Pages } from "./screen-device.ts";
import { place, type Widget } from "./screen-layout.ts";

export type Goal =
  /** One action; with a target, its point must be on it. */
  | { readonly kind: "step"; readonly action: string; readonly target?: string; readonly text?: string }
  | { readonly kind: "press"; readonly page: string; readonly button: string }
  | {
      readonly kind: "write";
      readonly page: string;
      readonly button: string;
      readonly field: string;
      readonly text: string;
    };

export interface ScreenTask {
  readonly instruction: Readonly<Record<Style, string>>;
  readonly pages: Pages;
  readonly goal: Goal;
}

export interface ScreenTaskOptions {
  readonly actions: Vocabulary;
  readonly columns: number;
  readonly rows: number;
  readonly widgets: number;
}

const apps = ["Mail", "Maps", "Clock", "Notes", "Music", "Photo"];
const fields = ["Name", "City", "Title", "Code"];
const texts = ["hello", "apple", "seven", "green", "river", "paper", "stone", "cloud"];
const buttons = "Save Send Edit Copy Help Next Stop Play Share Print Close Start Open Add Reset Done".split(" ");
/** Buttons that training never shows. */
const newButtons = "Undo Find Zoom Sort Lock Mute Reply Merge".split(" ");

function buttonsOf(split: string): readonly string[] {
  return split === "new-labels" ? newButtons : buttons;
}

/** Mostly clicks, as on phones. */
const clickShare = 0.6;

/** What UI-R1's five actions are in either vocabulary. */
const names = {
  "ui-r1": { click: "click", open: "open_app", scroll: "scroll", back: "navigate_back", write: "input_text" },
  "computer-use": { click: "left_click", open: "double_click", scroll: "scroll", back: "key", write: "type" },
} as const;

export function makeGroundingTask(rng: Rng, options: ScreenTaskOptions, split: string): ScreenTask {
  const { actions, columns, rows, widgets } = options;
  const kinds = Array.from({ length: widgets }, (_, index): Widget["kind"] => {
    // there is always something to click and something to open
    if (index < 2) return index === 0 ? "button" : "app";
    const chance = rng.next();
    return chance < 0.6 ? "button" : chance < 0.8 ? "field" : "app";
  });
  const labels = { app: draw(rng, apps, 6), field: draw(rng, fields, 4), button: draw(rng, buttonsOf(split), 8) };
  const all = kinds.flatMap((kind) => {
    const label = labels[kind].pop();
    return label === undefined ? [] : [{ kind, label }];
  });
  const page = place(rng, all, { columns, rows });
  const step = rng.next() < clickShare ? "click" : draw(rng, ["open", "scroll", "back", "write"] as const, 1)[0];
  const action = names[actions][step];
  const { said, ...goal } = drawStep(rng, step, all);
  const isPointed = step === "click" || (step === "open" && actions === "computer-use");
  const { target, text } = goal;
  return {
    instruction: said,
    pages: { [home]: page },
    goal: {
      kind: "step",
      action,
      ...defined({ target: isPointed && target !== undefined ? target : undefined }),
      ...(step === "back" && actions === "computer-use" ? { text: "Escape" } : text === undefined ? {} : { text }),
    },
  };
}

type Step = "click" | "open" | "scroll" | "back" | "write";

function drawStep(rng: Rng, step: Step, widgets: readonly Pick<Widget, "kind" | "label">[]) {
  const labelOf = (isTarget: (kind: Widget["kind"]) => boolean) =>
    draw(
      rng,
      widgets.filter(({ kind }) => isTarget(kind)),
      1,
    )[0].label;
  switch (step) {
    case "click": {
      const target = labelOf((kind) => kind !== "app");
      return { said: { tags: `Press "${target}".`, compact: `press ${target}` }, target };
    }
    case "open": {
      const target = labelOf((kind) => kind === "app");
      return { said: { tags: `Open the app "${target}".`, compact: `open ${target}` }, target, text: target };
    }
    case "scroll": {
      const text = rng.next() < 0.5 ? "up" : "down";
      return { said: { tags: `Scroll ${text}.`, compact: `go ${text}` }, text };
    }
    case "back":
      return { said: { tags: "Go back.", compact: "go back" } };
    case "write": {
      const text = draw(rng, texts, 1)[0];
      return { said: { tags: `Type "${text}".`, compact: `write ${text}` }, text };
    }
    default:
      return step satisfies never;
  }
}

const appCount = 3;

/** Three apps, each a page of up to two screens: buttons and one field. */
export function makeEpisodeTask(rng: Rng, { columns, rows, widgets }: ScreenTaskOptions, split: string): ScreenTask {
  const opened = draw(rng, apps, appCount);
  const pages: Record<string, readonly Widget[]> = {
    [home]: place(
      rng,
      opened.map((label) => ({ kind: "app", label })),
      { columns, rows },
    ),
  };
  for (const app of opened) {
    const all: Pick<Widget, "kind" | "label">[] = draw(rng, buttonsOf(split), widgets - 1).map((label) => {
      return { kind: "button", label };
    });
    all.push({ kind: "field", label: draw(rng, fields, 1)[0] });
    pages[app] = place(rng, all, { columns, rows: 2 * rows });
  }
  const page = opened[rng.integer(appCount)];
  const labelOf = (kind: Widget["kind"]) =>
    draw(
      rng,
      pages[page].filter((widget) => widget.kind === kind),
      1,
    )[0].label;
  const [button, field, text] = [labelOf("button"), labelOf("field"), draw(rng, texts, 1)[0]];
  if (rng.next() < 0.5) {
    const instruction = { tags: `Open ${page} and press "${button}".`, compact: `${page} ${button}` };
    return { instruction, pages, goal: { kind: "press", page, button } };
  }
  const instruction = {
    tags: `Open ${page}, write "${text}" into "${field}" and press "${button}".`,
    compact: `${page} ${field}=${text} ${button}`,
  };
  return { instruction, pages, goal: { kind: "write", page, button, field, text } };
}
