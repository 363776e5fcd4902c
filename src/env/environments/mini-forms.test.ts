import { expect, test } from "vitest";
import type { Task } from "../../schema/task.ts";
import { type FormTask, formKinds } from "./mini-form-tasks.ts";
import { type MiniFormsOptions, miniForms } from "./mini-forms.ts";
import { playEpisode } from "./testing/play-episode.ts";

const instruction = { tags: "Do it.", compact: "do" };
const checkboxes: FormTask = {
  kind: "click-checkboxes",
  instruction,
  elements: [
    { ref: 1, tag: "checkbox", text: "amber" },
    { ref: 2, tag: "checkbox", text: "birch" },
    { ref: 3, tag: "button", text: "Submit" },
  ],
  ends: [3],
  texts: {},
  chosen: [2],
};
const login: FormTask = {
  kind: "login-user",
  instruction,
  elements: [
    { ref: 1, tag: "input", text: "username" },
    { ref: 2, tag: "input", text: "password" },
    { ref: 3, tag: "button", text: "Login" },
  ],
  ends: [3],
  texts: { 1: "jade", 2: "iris" },
  chosen: [],
};
const tree: FormTask = {
  kind: "navigate-tree",
  instruction,
  elements: [
    { ref: 1, tag: "folder", text: "amber" },
    { ref: 2, tag: "folder", text: "birch", folder: 1 },
    { ref: 3, tag: "file", text: "cedar", folder: 2 },
    { ref: 4, tag: "file", text: "delta" },
  ],
  ends: [3],
  texts: {},
  chosen: [],
};

function play(task: FormTask, says: readonly string[] | "expert", options: Partial<MiniFormsOptions> = {}) {
  const given: Task<FormTask> = { id: "t", seed: 1, data: task };
  return playEpisode(miniForms(options), given, says);
}

async function total(task: FormTask, says: readonly string[] | "expert", options: Partial<MiniFormsOptions> = {}) {
  return (await play(task, says, options)).scores.agent.total;
}

test("boxes: exactly those asked for, then Submit", async () => {
  const { heard, turns, scores } = await play(checkboxes, "expert");
  expect(heard).toEqual([
    "do\n1 checkbox amber\n2 checkbox birch\n3 button Submit",
    "1 checkbox amber\n2 checkbox birch+\n3 button Submit",
  ]);
  expect(turns.map(({ text }) => text)).toEqual(["click 2", "click 3"]);
  expect(scores.agent).toEqual({ total: 1, parts: { outcome: 1 }, success: true });
  expect(await total(checkboxes, ["click 1", "click 2", "click 3"])).toBe(-1);
  expect(await total(checkboxes, ["click 1", "click 2", "click 1", "click 3"])).toBe(1);
  expect(await total(checkboxes, ["click 3"])).toBe(-1);
});

test("fields: filled at once or clicked and typed into, and corrected", async () => {
  expect((await play(login, "expert")).turns.map(({ text }) => text)).toEqual([
    "fill 1 jade",
    "fill 2 iris",
    "click 3",
  ]);
  expect(await total(login, ["click 1", "type ja", "type de", "fill 2 iris", "click 3"])).toBe(1);
  expect(await total(login, ["fill 1 jadee", "key Backspace", "fill 2 iris", "click 3"])).toBe(1);
  expect(await total(login, ["fill 2 jade", "fill 1 iris", "click 3"])).toBe(-1);
  expect(await total(login, ["type jade", "fill 2 iris", "click 3"])).toBe(-1);
  expect(await total(login, ["fill 1 jade", "fill 3 x", "fill 2 iris", "click 3"])).toBe(1);
});

test("trees: folders open, what is inside is found, a wrong file loses", async () => {
  const { heard, scores } = await play(tree, "expert");
  expect(heard).toEqual([
    "do\n1 folder amber\n4 file delta",
    "1 folder amber+\n2 folder birch\n4 file delta",
    "1 folder amber+\n2 folder birch+\n3 file cedar\n4 file delta",
  ]);
  expect(scores.agent.total).toBe(1);
  expect(await total(tree, ["click 4", "click 1", "click 2", "click 3"])).toBe(-1);
  expect(await total(tree, ["click 3", "click 1", "click 1"])).toBe(-1);
});

test("a click by coordinates hits what is shown there", async () => {
  const says = ["CLICK_COORDS 10 75", "CLICK_COORDS 10 150", "CLICK_COORDS 10 90"];
  const tagged = says.map((answer) => `<think></think><answer>${answer}</answer>`);
  const { heard, scores } = await play(checkboxes, tagged, { style: "tags" });
  expect(heard[1]).toBe(
    '[1] checkbox "amber" (2, 52, 58, 66)\n[2] checkbox+ "birch" (2, 69, 58, 83)\n[3] button "Submit" (2, 86, 66, 100)',
  );
  expect(scores.agent.total).toBe(1);
});

test("a list has one choice, the last", async () => {
  const list: FormTask = {
    ...checkboxes,
    kind: "choose-list",
    elements: checkboxes.elements.map((each) => (each.tag === "checkbox" ? { ...each, tag: "option" } : each)),
  };
  expect(await total(list, ["click 1", "click 2", "click 3"])).toBe(1);
  expect(await total(list, ["click 2", "click 1", "click 3"])).toBe(-1);
});

test("in proportion, each turn before the last takes its share; running out of turns loses", async () => {
  expect(await total(checkboxes, ["click 2", "click 3"], { reward: "proportional" })).toBeCloseTo(0.9, 12);
  expect(await total(tree, "expert", { reward: "proportional", turns: 4 })).toBeCloseTo(0.5, 12);
  const { stop, scores } = await play(tree, ["click 1", "click 1"], { reward: "proportional", turns: 2 });
  expect([stop, scores.agent.total, scores.agent.success]).toEqual(["max-turns", -1, false]);
});

test("what is no action is said, and changes nothing", async () => {
  const { turns } = await play(tree, ["click", "click 1 2", "fill 1", "point 5", "press 1", "CLICK_ELEMENT 1"]);
  expect(turns.map(({ observation }) => observation.split("\n")[0])).toEqual(Array(6).fill("?"));
  expect(turns.map(({ info }) => info!.isValid)).toEqual(Array(6).fill(false));
});

test.each(formKinds)("the expert wins every %s, in both styles", async (kind) => {
  for (const style of ["compact", "tags"] as const) {
    const env = miniForms({ kinds: [kind], style });
    for (let i = 0; i < 60; i++) {
      const { scores, stop } = await playEpisode(env, await env.tasks.at("train", i), "expert");
      expect([stop, scores.agent.total]).toEqual(["completed", 1]);
    }
  }
});

test("pages of click-button hold six things, and a button of the name asked for", async () => {
  const env = miniForms({ kinds: ["click-button"] });
  const tags = new Set<string>();
  for (let i = 0; i < 50; i++) {
    const { data } = await env.tasks.at("train", i);
    expect(data.elements.length).toBe(6);
    const labels = data.ends.map((ref) => data.elements.find((each) => each.ref === ref)!);
    expect(new Set(labels.map(({ tag, text }) => `${tag} ${text}`)).size).toBe(1);
    expect(data.instruction.compact).toBe(`click ${labels[0].text}`);
    for (const { tag } of data.elements) tags.add(tag);
  }
  expect([...tags].sort()).toEqual(["button", "input", "text"]);
});

test("no page of training is one of testing", async () => {
  const env = miniForms();
  const pages = async (split: string) =>
    Promise.all(
      Array.from({ length: 200 }, async (_, index) => JSON.stringify((await env.tasks.at(split, index)).data)),
    );
  const train = new Set(await pages("train"));
  expect((await pages("test")).filter((page) => train.has(page))).toEqual([]);
});
