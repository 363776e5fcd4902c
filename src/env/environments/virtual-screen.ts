import { defined } from "../../defined.ts";
import { LudusError } from "../../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import { plain } from "../../policy/formats/plain.ts";
import { thinkAnswer } from "../../policy/formats/think-answer.ts";
import { makeScore, type Score } from "../../schema/score.ts";
import type { Point } from "../../scorer/point-in-box.ts";
import { uiR1ActionScore } from "../../scorer/ui-r1.ts";
import { generated } from "../../task/generated.ts";
import { defineEnv } from "../define-env.ts";
import type { ActContext, Acted, Env } from "../env.ts";
import { checkWholeOptions } from "./check-options.ts";
import type { Style } from "./moves.ts";
import { describeActions, readAction, type ScreenAction, type Vocabulary, writeAction } from "./screen-actions.ts";
import { type Device, lastScroll, perform, startDevice, textsOf, visibleWidgets } from "./screen-device.ts";
import { nextAction, possibleActions } from "./screen-expert.ts";
import { drawBitmap, factors, mapBack, type ScreenSize, shownBox } from "./screen-layout.ts";
import { makeEpisodeTask, makeGroundingTask, type ScreenTask } from "./screen-tasks.ts";

export interface VirtualScreenOptions {
  style: Style;
  /** One action on one screen, or open an app, find something in it, write, press. */
  task: "grounding" | "episode";
  actions: Vocabulary;
  /** Widgets with their boxes, or the screen in characters, one for each cell. */
  view: "list" | "bitmap";
  /** The screen in cells; each widget is one row high. */
  columns: number;
  rows: number;
  /** Pixels of a cell, both ways. */
  cell: number;
  /** Pixels of what the policy is shown: coordinates are mapped back from it. The screen's own size by default. */
  shown?: Point;
  /** On a page. */
  widgets: number;
  turns: number;
  seed: number;
}

const knownVirtualScreenOptions: KnownOptions<VirtualScreenOptions> = {
  style: true,
  task: true,
  actions: true,
  view: true,
  columns: true,
  rows: true,
  cell: true,
  shown: true,
  widgets: true,
  turns: true,
  seed: true,
};

const defaults: VirtualScreenOptions = {
  style: "compact",
  task: "grounding",
  actions: "ui-r1",
  view: "list",
  columns: 16,
  rows: 8,
  cell: 4,
  widgets: 5,
  turns: 12,
  seed: 0,
};

export interface VirtualScreenState {
  readonly device: Device;
  readonly instruction: string;
  /** The last thing said, where it was an action. */
  last: ScreenAction | undefined;
  isWellFormed: boolean;
}

/**
 * A toy screen of apps, buttons and fields, with the actions of UI-R1 or of Computer Use. Grounding scores like UI-R1: type,
 * point and format, each 0 or 1, added up; not weighted, and no overlap of boxes. An episode is 1 when the button asked for
 * was pressed and what had to be written was there; any other button ends it with 0.
 */
export function virtualScreen(options: Partial<VirtualScreenOptions> = {}): Env<ScreenTask, VirtualScreenState> {
  refuseUnknownOptions("virtualScreen", options, knownVirtualScreenOptions);
  const chosen = { ...defaults, ...options };
  const size = sizeOf(chosen);
  const { style, actions, seed } = chosen;
  const isGrounding = chosen.task === "grounding";
  const name = isGrounding ? "screen-grounding" : "virtual-screen";
  const makeTask = isGrounding ? makeGroundingTask : makeEpisodeTask;
  return defineEnv<ScreenTask, VirtualScreenState>({
    name,
    description: isGrounding
      ? "Do one thing on a screen of widgets"
      : "Find, write and press in the apps of a toy screen",
    tasks: generated((rng, split) => makeTask(rng, chosen, split), {
      name,
      seed,
      splits: ["train", "test", "new-labels"],
      key: (task) => JSON.stringify(task),
    }),
    ...defined({ system: style === "tags" ? introduce(chosen, size) : undefined }),
    start({ task }) {
      const device = startDevice(task.pages, size);
      const instruction = task.instruction[style];
      const state: VirtualScreenState = { device, instruction, last: undefined, isWellFormed: false };
      return { state, say: `${instruction}\n${show(state, chosen)}` };
    },
    act: (context) => act(context, chosen),
    score: ({ task, state }) => (task.goal.kind === "step" ? scoreStep(task, state) : isReached(task, state) ? 1 : 0),
    expert: (context) => write(nextAction(context, actions, aim(chosen)), chosen),
    actions: (context) => possibleActions(context, actions, aim(chosen)).map((action) => write(action, chosen)),
    stateKey: ({ instruction, device: { page, scrolled, focus, texts } }) =>
      [instruction, page, scrolled, focus ?? "", JSON.stringify(texts)].join("|"),
    limits: { turns: isGrounding ? 1 : chosen.turns, turnTokens: style === "tags" ? 256 : 32 },
    format: style === "tags" ? thinkAnswer() : plain(),
  });
}

function sizeOf({ columns, rows, cell, shown, widgets, turns }: VirtualScreenOptions): ScreenSize {
  checkWholeOptions("virtual-screen", {
    columns: [columns, 14, 200],
    rows: [rows, 4, 200],
    cell: [cell, 1, 200],
    widgets: [widgets, 2, Math.min(rows, 8)],
    turns: [turns, 1, 1000],
  });
  const size = { columns, rows, cell, shown: shown ?? ([columns * cell, rows * cell] as const) };
  const isUsable = factors(size).every((factor) => factor === 1 || factor * (cell - 1) >= 1);
  if (isUsable && size.shown.every(Number.isInteger)) return size;
  throw new LudusError("bad-option", {
    got: `shown = [${size.shown}] of a virtual screen of ${columns * cell}x${rows * cell} pixels in cells of ${cell}`,
    expected: "whole pixels, and at least one in each cell after rounding inwards",
  });
}

/** The corner can be copied from the list, which tiny models can do; the middle must be computed. */
function aim({ style }: VirtualScreenOptions): "corner" | "middle" {
  return style === "compact" ? "corner" : "middle";
}

function write(action: ScreenAction, { style, actions }: VirtualScreenOptions): string {
  return writeAction(action, style, actions);
}

function act(
  { task, state, answer, said }: ActContext<ScreenTask, VirtualScreenState>,
  options: VirtualScreenOptions,
): Acted {
  const { device } = state;
  state.last = readAction(answer, options.style, options.actions);
  state.isWellFormed = said.isWellFormed && (options.style === "tags" || state.last !== undefined);
  if (task.goal.kind === "step") return { done: true };
  const info = { isValid: state.last !== undefined };
  if (state.last === undefined) {
    const problem = options.style === "tags" ? `That is no action. Actions: ${describeActions(options.actions)}` : "?";
    return { say: `${problem}\n${show(state, options)}`, info };
  }
  perform(device, state.last);
  const cursor =
    state.last.name === "cursor_position" ? `X=${shownCursor(device)[0]},Y=${shownCursor(device)[1]}\n` : "";
  return { say: cursor + show(state, options), done: device.pressed !== undefined, info };
}

function shownCursor({ cursor: [x, y], size }: Device): Point {
  const [factorX, factorY] = factors(size);
  return [Math.round(x * factorX), Math.round(y * factorY)];
}

function scoreStep({ goal }: ScreenTask, { device, last, isWellFormed }: VirtualScreenState): Score {
  if (goal.kind !== "step") return makeScore({});
  const box = visibleWidgets(device).find(({ widget }) => widget.label === goal.target)?.box;
  const { type, coordinate, format } = uiR1ActionScore(
    {
      action: last?.name ?? null,
      point: last?.point === undefined ? null : mapBack(last.point, device.size),
      isWellFormed,
    },
    { action: goal.action, ...defined({ box }) },
    goal.target === undefined ? [] : [goal.action],
  );
  return makeScore({ type, coordinate, format }, coordinate === 1);
}

function isReached({ goal }: ScreenTask, { device }: VirtualScreenState): boolean {
  if (goal.kind === "step" || device.page !== goal.page || device.pressed !== goal.button) return false;
  return goal.kind === "press" || textsOf(device)[goal.field] === goal.text;
}

const letters = { app: "a", button: "b", field: "f" };

function show({ device }: VirtualScreenState, { style, view, task }: VirtualScreenOptions): string {
  const { page, scrolled, size, focus } = device;
  const texts = textsOf(device);
  const more = `${scrolled > 0 ? "^" : ""}${scrolled < lastScroll(device) ? "v" : ""}`;
  // a grounding task has one page without a name, and it does not scroll
  const top = task === "grounding" ? [] : [style === "tags" ? `Page: ${page} ${more}`.trim() : `${page}${more}`];
  if (view === "bitmap") return [...top, drawBitmap(device.pages[page], texts, size, scrolled)].join("\n");
  const lines = visibleWidgets(device).map(({ widget: { kind, label }, box }, index) => {
    const text = texts[label] === undefined ? "" : `=${texts[label]}`;
    const mark = focus === label ? "*" : "";
    const shown = shownBox(box, size);
    if (style === "compact") return `${letters[kind]} ${label}${text}${mark} ${shown.join(" ")}`;
    return `[${index}] ${kind} "${label}${text}"${mark} (${shown.join(", ")})`;
  });
  return [...top, ...lines].join("\n");
}

const legend = "v after the name of a page: there is more below. ^: above. *: the field that is written in.";

function introduce({ actions, view, task }: VirtualScreenOptions, { shown: [width, height] }: ScreenSize): string {
  const example =
    actions === "ui-r1"
      ? "[{'action': 'click', 'coordinate': [x, y]}]"
      : '{"action": "left_click", "coordinate": [x, y]}';
  const screen =
    view === "list"
      ? "Each widget is told with its kind, its label and its box: left, top, right, bottom."
      : "The screen is told in characters: <app>, [button], _field_.";
  return [
    `You use a device by its screen, ${width} pixels wide and ${height} high. ${screen}`,
    ...(task === "grounding" ? [] : [legend]),
    `Actions: ${describeActions(actions)}.`,
    `Answer with one action, like <answer>${example}</answer>.`,
  ].join("\n");
}
