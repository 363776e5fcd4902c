import { expect, test } from "vitest";
import type { Task } from "../../schema/task.ts";
import { type BoundingBox, isPointInBox } from "../../scorer/point-in-box.ts";
import { readAction, type ScreenAction, type Vocabulary, writeAction } from "./screen-actions.ts";
import { mapBack, shownBox } from "./screen-layout.ts";
import type { Goal, ScreenTask } from "./screen-tasks.ts";
import { playEpisode } from "./testing/play-episode.ts";
import { type VirtualScreenOptions, virtualScreen } from "./virtual-screen.ts";

const app = (label: string, row: number) => ({ kind: "app" as const, label, row, column: 1, width: 6 });
const button = (label: string, row: number) => ({ kind: "button" as const, label, row, column: 2, width: 6 });
const pages = {
  home: [app("Mail", 0), app("Maps", 2)],
  Mail: [button("Save", 1), { kind: "field" as const, label: "Name", row: 3, column: 0, width: 12 }, button("Send", 9)],
  Maps: [button("Send", 0)],
};

function taskOf(goal: Goal, ofPages: ScreenTask["pages"] = pages): Task<ScreenTask> {
  return { id: "t", seed: 1, data: { instruction: { tags: "Do it.", compact: "do" }, pages: ofPages, goal } };
}

const press: Goal = { kind: "press", page: "Mail", button: "Send" };
const write: Goal = { kind: "write", page: "Mail", button: "Send", field: "Name", text: "hello" };
const episode = (options: Partial<VirtualScreenOptions> = {}) => virtualScreen({ task: "episode", ...options });
const computer = { actions: "computer-use" } as const;

test("an episode on a phone: open, click the field, write, scroll, press", async () => {
  const { heard, turns, scores, stop } = await playEpisode(episode(), taskOf(write), "expert");
  expect(turns.map(({ text }) => text)).toEqual([
    "open_app Mail",
    "click 0 12",
    "input_text hello",
    "scroll down",
    "click 8 28",
  ]);
  expect(heard).toEqual([
    "do\nhome\na Mail 4 0 27 3\na Maps 4 8 27 11",
    "Mailv\nb Save 8 4 31 7\nf Name 0 12 47 15",
    "Mailv\nb Save 8 4 31 7\nf Name* 0 12 47 15",
    "Mailv\nb Save 8 4 31 7\nf Name=hello* 0 12 47 15",
    "Mail^\nf Name=hello* 0 4 47 7\nb Send 8 28 31 31",
  ]);
  expect([stop, scores.agent.total, scores.agent.success]).toEqual(["completed", 1, true]);
});

test("an episode with a mouse and keys", async () => {
  const { turns, scores } = await playEpisode(episode(computer), taskOf(write), "expert");
  expect(turns.map(({ text }) => text)).toEqual([
    "left_click 4 0",
    "left_click 0 12",
    "type hello",
    "scroll down 4",
    "left_click 8 28",
  ]);
  expect(scores.agent.total).toBe(1);
});

async function total(goal: Goal, says: readonly string[], options: Partial<VirtualScreenOptions> = {}) {
  return (await playEpisode(episode(options), taskOf(goal), says)).scores.agent.total;
}

test("another button, another page, another text or none end with 0", async () => {
  expect(await total(press, ["open_app Mail", "scroll down", "click 8 28"])).toBe(1);
  expect(await total(press, ["open_app Mail", "click 8 4", "scroll down", "click 8 28"])).toBe(0);
  expect(await total(press, ["open_app Maps", "click 8 0"])).toBe(0);
  expect(await total(write, ["open_app Mail", "scroll down", "click 8 28"])).toBe(0);
  const wrong = ["open_app Mail", "click 0 12", "input_text hullo", "scroll down", "click 8 28"];
  expect(await total(write, wrong)).toBe(0);
  expect(await total(write, [...wrong.slice(0, 3), "input_text hello", ...wrong.slice(3)])).toBe(1);
});

test("text goes where the focus is, and nowhere without one", async () => {
  const says = ["open_app Mail", "input_text hello", "click 0 12", "click 60 30", "input_text hello"];
  const { heard } = await playEpisode(episode(), taskOf(write), says);
  expect(heard.at(-1)).toBe("Mailv\nb Save 8 4 31 7\nf Name 0 12 47 15");
});

test("typing adds, three clicks select, keys delete, move and go back", async () => {
  const says = [
    ...["double_click 4 0", "key Tab", "type hel", "type lo", "key BackSpace", "triple_click 0 12", "type bye"],
    ...["key Page_Down", "key Page_Up", "key F1", "key Escape"],
  ];
  const { heard } = await playEpisode(episode({ ...computer, turns: 20 }), taskOf(write), says);
  const fields = heard.map((text) => /f Name\S*/.exec(text)?.[0] ?? text.split("\n")[0]);
  expect(fields).toEqual([
    ...["do", "f Name", "f Name*", "f Name=hel*", "f Name=hello*", "f Name=hell*", "f Name=hell*", "f Name=bye*"],
    ...["f Name=bye*", "f Name=bye*", "f Name=bye*", "home"],
  ]);
});

test("the mouse goes down and up on the same thing, or a click is where the cursor is", async () => {
  const toMail = ["left_click 4 0", "scroll down 9"];
  expect(await total(press, [...toMail, "mouse_move 8 28", "left_click"], computer)).toBe(1);
  expect(await total(press, [...toMail, "mouse_move 8 28", "left_mouse_down", "left_mouse_up"], computer)).toBe(1);
  const { turns } = await playEpisode(episode(computer), taskOf(press), [
    ...toMail,
    ...["mouse_move 8 28", "left_mouse_down", "mouse_move 0 0", "left_mouse_up", "right_click 8 28", "wait 1"],
    ...["screenshot", "zoom 0 0 8 8", "hold_key 1 a", "cursor_position"],
  ]);
  expect(turns.length).toBe(12);
  expect(turns.at(-1)!.observation).toMatch(/^X=8,Y=8\nMail\^\n/);
});

test("what is no action is said, and changes nothing", async () => {
  const { turns } = await playEpisode(episode(), taskOf(press), ["click 4", "tap 4 0", "left_click 4 0"]);
  expect(turns.map(({ observation }) => observation.split("\n")[0])).toEqual(["?", "?", "?"]);
  expect(turns.map(({ info }) => info!.isValid)).toEqual([false, false, false]);
  const tags = await playEpisode(episode({ style: "tags" }), taskOf(press), ["<think>a</think><answer>click</answer>"]);
  expect(tags.turns[0].observation).toMatch(
    /^That is no action\. Actions: click with coordinate; open_app with text; /,
  );
});

test("the screen in characters, one for each cell", async () => {
  const says = ["open_app Mail", "click 0 12", "input_text hello", "scroll down"];
  const { heard } = await playEpisode(episode({ view: "bitmap" }), taskOf(write), says);
  expect(heard.at(-1)!.split("\n")).toEqual([
    "Mail^",
    "................",
    "_Name:hello_....",
    ...Array(5).fill("................"),
    "..[Send]........",
  ]);
});

const stepOptions = { style: "tags" } as const;
const said = (answer: string) => `<think>so</think><answer>${answer}</answer>`;
const click: Goal = { kind: "step", action: "click", target: "Maps" };

async function partsOf(goal: Goal, text: string, options: Partial<VirtualScreenOptions> = stepOptions) {
  const { scores, turns } = await playEpisode(virtualScreen(options), taskOf(goal), [text]);
  const { type, coordinate, format } = scores.agent.parts;
  expect(turns.length).toBe(1);
  expect(scores.agent.success).toBe(coordinate === 1);
  return [type, coordinate, format];
}

test("UI-R1's parts: the type, the point in the box, the format", async () => {
  // the box of Maps is 4..27 by 8..11
  expect(await partsOf(click, said("[{'action': 'click', 'coordinate': [4, 8]}]"))).toEqual([1, 1, 1]);
  expect(await partsOf(click, said('{"action": "click", "coordinate": [27, 11]}'))).toEqual([1, 1, 1]);
  expect(await partsOf(click, said("[{'action': 'click', 'coordinate': [28, 11]}]"))).toEqual([1, 0, 1]);
  expect(await partsOf(click, said("[{'action': 'scroll', 'direction': 'up'}]"))).toEqual([0, 0, 1]);
  expect(await partsOf(click, "<answer>[{'action': 'click', 'coordinate': [4, 8]}]</answer>")).toEqual([1, 1, 0]);
  expect(await partsOf(click, "click 4 8")).toEqual([0, 0, 0]);
});

test("of other actions the type is enough, whatever else they say", async () => {
  const goal: Goal = { kind: "step", action: "input_text", text: "hello" };
  expect(await partsOf(goal, said("[{'action': 'input_text', 'text': 'bye'}]"))).toEqual([1, 1, 1]);
  expect(await partsOf(goal, said("[{'action': 'click', 'coordinate': [4, 8]}]"))).toEqual([0, 0, 1]);
});

test("in compact style the format is that it is an action", async () => {
  expect(await partsOf(click, "click 4 8", {})).toEqual([1, 1, 1]);
  expect(await partsOf(click, "scroll up", {})).toEqual([0, 0, 1]);
  expect(await partsOf(click, "Maps", {})).toEqual([0, 0, 0]);
});

test("coordinates are those of what is shown, mapped back", async () => {
  const shown = [1024, 768] as const;
  const { heard } = await playEpisode(virtualScreen({ shown }), taskOf(click), []);
  expect(heard[0]).toContain("a Maps 64 192 432 264");
  expect(await partsOf(click, "click 64 192", { shown })).toEqual([1, 1, 1]);
  expect(await partsOf(click, "click 4 8", { shown })).toEqual([1, 0, 1]);
});

test.each([
  [1, 1024, 768],
  [4, 1024, 768],
  [10, 101, 53],
  [40, 97, 31],
])("every corner of a shown box is in the box: cells of %i shown as %ix%i", (cell, width, height) => {
  const size = { columns: 16, rows: 8, cell, shown: cell === 1 ? ([16, 8] as const) : ([width, height] as const) };
  for (let row = 0; row < 8; row++) {
    const box: BoundingBox = [3 * cell, row * cell, 9 * cell - 1, (row + 1) * cell - 1];
    const [left, top, right, bottom] = shownBox(box, size);
    expect(isPointInBox(mapBack([left, top], size), box)).toBe(true);
    expect(isPointInBox(mapBack([right, bottom], size), box)).toBe(true);
  }
});

test("a screen that cannot be pointed at, or is too small, is refused", () => {
  expect(() => virtualScreen({ shown: [16, 8] })).toThrow("shown");
  expect(() => virtualScreen({ shown: [64.5, 32] })).toThrow("shown");
  expect(() => virtualScreen({ widgets: 9 })).toThrow("widgets");
});

const vocabularies: readonly Vocabulary[] = ["ui-r1", "computer-use"];
const variants = vocabularies.flatMap((actions) =>
  (["compact", "tags"] as const).flatMap((style) =>
    (["grounding", "episode"] as const).map((task) => ({ actions, style, task })),
  ),
);

test.each(variants)("the expert succeeds at everything: $actions, $style, $task", async (options) => {
  const env = virtualScreen(options);
  for (const split of env.tasks.splits) {
    for (let i = 0; i < 60; i++) {
      const { scores, turns, stop } = await playEpisode(env, await env.tasks.at(split, i), "expert");
      expect(stop).toBe("completed");
      expect(scores.agent.total).toBe(options.task === "grounding" ? 3 : 1);
      expect(turns.length).toBeLessThan(10);
    }
  }
});

test("the expert finds its way back from wherever others have led", async () => {
  const env = episode(computer);
  const task = taskOf(write);
  const { state } = await env.start({ task: task.data, rng: noChance, signal: new AbortController().signal });
  const ask = () => env.expert!({ task: task.data, state, rng: noChance, role: "agent", turn: 0 });
  state.device.page = "Maps";
  expect(ask()).toBe("key Escape");
  Object.assign(state.device, { page: "Mail", focus: "Name", scrolled: 2, texts: { Mail: { Name: "hul" } } });
  expect(ask()).toBe("key BackSpace");
  Object.assign(state.device, { focus: undefined, scrolled: 4 });
  expect(ask()).toBe("scroll up 4");
  expect(env.actions!({ task: task.data, state, rng: noChance, role: "agent", turn: 0 })).toEqual([
    ...["left_click 8 20", "scroll up 4", "scroll down 4", "key Escape", "type hello"],
  ]);
});

const noChance = { next: () => 0, normal: () => 0, integer: () => 0 };

test.each(variants)("what may be done holds what the expert does: $actions, $style, $task", async (options) => {
  const env = virtualScreen(options);
  for (let i = 0; i < 30; i++) {
    const { data: task } = await env.tasks.at("train", i);
    const { state } = await env.start({ task, rng: noChance, signal: new AbortController().signal });
    const context = { task, state, rng: noChance, role: "agent", turn: 0 };
    expect(env.actions!(context)).toContain(env.expert!(context));
  }
});

test("buttons of the split new-labels are never shown in training", async () => {
  const env = virtualScreen();
  const labels = async (split: string) => {
    const tasks = await Promise.all(Array.from({ length: 100 }, (_, index) => env.tasks.at(split, index)));
    const all = tasks.flatMap(({ data }) => Object.values(data.pages).flat());
    return new Set(all.filter(({ kind }) => kind === "button").map(({ label }) => label));
  };
  const train = await labels("train");
  expect(train.size).toBe(16);
  expect([...(await labels("new-labels"))].filter((label) => train.has(label))).toEqual([]);
});

const samples: Readonly<Record<Vocabulary, readonly ScreenAction[]>> = {
  "ui-r1": [
    { name: "click", point: [3, 4] },
    { name: "open_app", text: "Mail" },
    { name: "scroll", direction: "down" },
    { name: "navigate_back" },
    { name: "input_text", text: "a b c" },
  ],
  "computer-use": [
    { name: "key", text: "ctrl+s" },
    { name: "type", text: "12 30" },
    { name: "left_click", point: [3, 4] },
    { name: "right_click" },
    { name: "left_click_drag", start: [1, 2], point: [3, 4] },
    { name: "scroll", direction: "up", amount: 3 },
    { name: "scroll", point: [5, 6], direction: "up", amount: 3 },
    { name: "hold_key", amount: 2, text: "shift" },
    { name: "wait", amount: 1 },
    { name: "screenshot" },
    { name: "zoom", start: [1, 2], point: [3, 4] },
  ],
};

test.each(vocabularies)("what is written is read as it was meant (%s)", (vocabulary) => {
  for (const style of ["compact", "tags"] as const) {
    for (const action of samples[vocabulary]) {
      expect(readAction(writeAction(action, style, vocabulary), style, vocabulary)).toEqual(action);
    }
  }
});

test.each([
  "click",
  "click 1",
  "click -1 2",
  "click 1.5 2",
  "click 1 2 3",
  "scroll left",
  "open_app",
  "constructor",
  "{}",
])("%j is no action", (text) => {
  expect(readAction(text, "compact", "ui-r1")).toBeUndefined();
  expect(readAction(text, "tags", "ui-r1")).toBeUndefined();
});
