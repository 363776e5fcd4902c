import { defined } from "../../defined.ts";
import type { Point } from "../../scorer/point-in-box.ts";
import type { ExpertContext } from "../env.ts";
import type { ScreenAction, Vocabulary } from "./screen-actions.ts";
import { type Device, home, screenful, textsOf, visibleWidgets } from "./screen-device.ts";
import { shownBox, type Widget } from "./screen-layout.ts";
import type { Goal, ScreenTask } from "./screen-tasks.ts";

type Aim = "corner" | "middle";
type Context = Pick<ExpertContext<ScreenTask, { readonly device: Device }>, "task" | "state">;

/** The next action towards the goal, wherever the episode has come to. */
export function nextAction(
  { task: { goal }, state: { device } }: Context,
  actions: Vocabulary,
  aim: Aim,
): ScreenAction {
  if (goal.kind === "step") return stepOf(goal, device, speech(actions), aim);
  const says = speech(actions);
  if (device.page !== goal.page) {
    if (actions === "ui-r1") return says.open(goal.page);
    return device.page === home ? reach(goal.page, device, says, aim) : says.back();
  }
  if (goal.kind === "press") return reach(goal.button, device, says, aim);
  const written = textsOf(device)[goal.field] ?? "";
  if (written === goal.text) return reach(goal.button, device, says, aim);
  if (device.focus !== goal.field) return reach(goal.field, device, says, aim);
  // `type` adds to what is there, `input_text` replaces it
  if (actions === "ui-r1" || written === "" || device.isSelected) return says.write(goal.text);
  return { name: "key", text: "BackSpace" };
}

function stepOf(
  { action, target, text }: Extract<Goal, { kind: "step" }>,
  device: Device,
  says: Speech,
  aim: Aim,
): ScreenAction {
  if (target !== undefined) return { name: action, point: pointOf(target, device, aim)! };
  if (action === "scroll") return says.scroll(text === "up" ? "up" : "down", device);
  return { name: action, ...defined({ text }) };
}

/** What may be tried on the page that is open: each widget, each way to move, the text of the goal. */
export function possibleActions({ task: { goal, pages }, state: { device } }: Context, actions: Vocabulary, aim: Aim) {
  const says = speech(actions);
  const isApp = ({ kind }: Widget) => kind === "app";
  const pointAt = ({ label }: Widget) => pointOf(label, device, aim)!;
  const shown = visibleWidgets(device).map(({ widget }) => widget);
  const opening =
    actions === "ui-r1"
      ? pages[home].filter(isApp).map(({ label }) => says.open(label))
      : shown.filter(isApp).map((app): ScreenAction => ({ name: "double_click", point: pointAt(app) }));
  const isWriting = goal.kind === "write" || (goal.kind === "step" && goal.action === says.write("").name);
  return [
    ...shown.map((widget) => says.press(pointAt(widget))),
    ...opening,
    says.scroll("up", device),
    says.scroll("down", device),
    says.back(),
    ...(isWriting && goal.text !== undefined ? [says.write(goal.text)] : []),
  ];
}

type Speech = ReturnType<typeof speech>;

function speech(actions: Vocabulary) {
  const isPhone = actions === "ui-r1";
  return {
    press: (point: Point): ScreenAction => ({ name: isPhone ? "click" : "left_click", point }),
    open: (text: string): ScreenAction => ({ name: "open_app", text }),
    scroll: (direction: "up" | "down", { size }: Device): ScreenAction => {
      return { name: "scroll", direction, ...defined({ amount: isPhone ? undefined : screenful(size) }) };
    },
    back: (): ScreenAction => (isPhone ? { name: "navigate_back" } : { name: "key", text: "Escape" }),
    write: (text: string): ScreenAction => ({ name: isPhone ? "input_text" : "type", text }),
  };
}

/** Presses a widget of the page, or scrolls towards it. */
function reach(label: string, device: Device, says: Speech, aim: Aim): ScreenAction {
  const point = pointOf(label, device, aim);
  if (point !== undefined) return says.press(point);
  const { row } = device.pages[device.page].find((widget) => widget.label === label)!;
  return says.scroll(row < device.scrolled ? "up" : "down", device);
}

function pointOf(label: string, device: Device, aim: Aim): Point | undefined {
  const found = visibleWidgets(device).find(({ widget }) => widget.label === label);
  if (found === undefined) return undefined;
  const [left, top, right, bottom] = shownBox(found.box, device.size);
  return aim === "corner" ? [left, top] : [Math.floor((left + right) / 2), Math.floor((top + bottom) / 2)];
}
