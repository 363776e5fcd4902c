import { type BoundingBox, isPointInBox, type Point } from "../../scorer/point-in-box.ts";
import type { ScreenAction } from "./screen-actions.ts";
import { boxOf, mapBack, type ScreenSize, type Widget } from "./screen-layout.ts";

export const home = "home";

/** Apps by name, the first page among them; pages may be longer than the screen. */
export type Pages = Readonly<Record<string, readonly Widget[]>>;

export interface Device {
  readonly pages: Pages;
  readonly size: ScreenSize;
  page: string;
  /** Rows above the screen. */
  scrolled: number;
  cursor: Point;
  /** The field that is written in. */
  focus: string | undefined;
  /** What was written, by page and field. */
  readonly texts: Record<string, Record<string, string>>;
  isSelected: boolean;
  /** What the mouse was pressed on and not yet let go. */
  held: string | undefined;
  /** The button that ended it. */
  pressed: string | undefined;
}

export function startDevice(pages: Pages, size: ScreenSize): Device {
  const pointers = { cursor: [0, 0] as const, focus: undefined, held: undefined, pressed: undefined };
  return { pages, size, page: home, scrolled: 0, ...pointers, texts: {}, isSelected: false };
}

export function visibleWidgets({ pages, page, scrolled, size }: Device): { widget: Widget; box: BoundingBox }[] {
  return pages[page]
    .filter(({ row }) => row >= scrolled && row < scrolled + size.rows)
    .map((widget) => ({
      widget,
      box: boxOf(widget, scrolled, size),
    }));
}

export function lastScroll({ pages, page, size }: Device): number {
  return Math.max(0, 1 + Math.max(0, ...pages[page].map(({ row }) => row)) - size.rows);
}

export function textsOf({ texts, page }: Device): Readonly<Record<string, string>> {
  return Object.hasOwn(texts, page) ? texts[page] : {};
}

type Effect = (device: Device, action: ScreenAction) => void;

const click: Effect = (device) => press(device, under(device));

/** In either vocabulary. Looking, waiting, moving and the other buttons of the mouse have none. */
const effects: Readonly<Record<string, Effect>> = {
  click,
  left_click: click,
  double_click: click,
  triple_click(device) {
    press(device, under(device));
    device.isSelected = device.focus !== undefined;
  },
  left_mouse_down(device) {
    device.held = under(device)?.label;
  },
  left_mouse_up(device) {
    if (device.held !== undefined && under(device)?.label === device.held) press(device, under(device));
    device.held = undefined;
  },
  open_app(device, { text = "" }) {
    if (Object.hasOwn(device.pages, text)) goTo(device, text);
  },
  navigate_back: (device) => goTo(device, home),
  scroll(device, { direction, amount = screenful(device.size) }) {
    scroll(device, direction === "up" ? -amount : amount);
  },
  input_text: (device, { text = "" }) => write(device, () => text),
  type: (device, { text = "" }) => write(device, (before) => before + text),
  key(device, { text = "" }) {
    if (Object.hasOwn(keys, text)) keys[text](device);
  },
};

const keys: Readonly<Record<string, (device: Device) => void>> = {
  Escape: (device) => goTo(device, home),
  Page_Down: (device) => scroll(device, screenful(device.size)),
  Page_Up: (device) => scroll(device, -screenful(device.size)),
  BackSpace: (device) => write(device, (before) => before.slice(0, -1)),
  Tab(device) {
    const fields = device.pages[device.page].filter(({ kind }) => kind === "field").map(({ label }) => label);
    device.focus = fields[(fields.indexOf(device.focus ?? "") + 1) % fields.length];
  },
};

/** Does what was said. What has no effect here changes nothing; that is not an error. */
export function perform(device: Device, action: ScreenAction): void {
  if (action.point !== undefined) device.cursor = mapBack(action.point, device.size);
  effects[action.name]?.(device, action);
}

/** Half a screen, so that nothing is jumped over. */
export function screenful({ rows }: ScreenSize): number {
  return Math.ceil(rows / 2);
}

function under(device: Device): Widget | undefined {
  return visibleWidgets(device).find(({ box }) => isPointInBox(device.cursor, box))?.widget;
}

function press(device: Device, widget: Widget | undefined): void {
  device.isSelected = false;
  device.focus = widget?.kind === "field" ? widget.label : undefined;
  if (widget?.kind === "app") goTo(device, widget.label);
  if (widget?.kind === "button") device.pressed = widget.label;
}

function goTo(device: Device, page: string): void {
  Object.assign(device, { page, scrolled: 0, focus: undefined, isSelected: false });
}

function scroll(device: Device, rows: number): void {
  device.scrolled = Math.max(0, Math.min(lastScroll(device), device.scrolled + Math.trunc(rows)));
}

const maxTextChars = 100;

function write(device: Device, change: (before: string) => string): void {
  if (device.focus === undefined) return;
  const texts = textsOf(device);
  const before = device.isSelected || !Object.hasOwn(texts, device.focus) ? "" : texts[device.focus];
  device.texts[device.page] = { ...texts, [device.focus]: change(before).slice(0, maxTextChars) };
  device.isSelected = false;
}
