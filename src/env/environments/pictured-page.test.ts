import { expect, test } from "vitest";
import { checkEnv } from "../check-env.ts";
import { type PicturedPageOptions, type PicturedPageTask, picturedPage } from "./pictured-page.ts";
import { playEpisode } from "./testing/play-episode.ts";

const data: PicturedPageTask = {
  instruction: "top",
  elements: [
    { name: "S", isChecked: true, row: 3, column: 0 },
    { name: "E", isChecked: false, row: 1, column: 2 },
    { name: "H", isChecked: false, row: 2, column: 3 },
  ],
  meant: "E",
  isOpen: true,
};
const task = { id: "t", seed: 0, data };
const text = ["S*", "E", "H"];
const picture = ["....", "..E.", "...H", "S..."];
const blank = Array(4).fill("....");

test.each([
  ["text", text],
  ["both", [...text, ...picture]],
  ["blank", [...text, ...blank]],
  ["bitmap", picture],
] as const)("shows %s", async (view, expected) => {
  const { heard, scores } = await playEpisode(picturedPage({ view }), task, ["E"]);
  expect(heard).toEqual([[...expected, "top"].join("\n")]);
  expect(scores.agent.success).toBe(true);
  expect((await playEpisode(picturedPage({ view }), task, ["S"])).scores.agent.success).toBe(false);
});

const places: Readonly<Record<string, (lines: readonly string[]) => string | undefined>> = {
  top: (lines) => lines.join("").match(/[A-Z]/)?.[0],
  bottom: (lines) => lines.join("").match(/[A-Z](?=[^A-Z]*$)/)?.[0],
  left: (lines) => lines.toSorted((a, b) => a.search(/[A-Z]/) - b.search(/[A-Z]/))[0].match(/[A-Z]/)?.[0],
  right: (lines) => lines.toSorted((a, b) => b.search(/[A-Z]/) - a.search(/[A-Z]/))[0].match(/[A-Z]/)?.[0],
};

test("the text tells what is checked and the picture places, and half of the tasks need the picture", async () => {
  const env = picturedPage();
  let open = 0;
  for (let index = 0; index < 200; index++) {
    const drawn = await env.tasks.at("train", index);
    const { instruction, meant, isOpen } = drawn.data;
    const lines = (await playEpisode(env, drawn, ["E"])).heard[0].split("\n");
    expect(lines.at(-1)).toBe(instruction);
    const byPlace = places[instruction]?.(lines.slice(4, 8));
    const checked = lines.find((line) => line.endsWith("*"))![0];
    expect(byPlace ?? checked).toBe(meant);
    expect(byPlace === undefined).toBe(!isOpen);
    open += Number(isOpen);
  }
  expect(open).toBeGreaterThan(70);
  expect(open).toBeLessThan(130);
});

test("the text says nothing about places: neither its order nor what is checked", async () => {
  const env = picturedPage({ openShare: 1 });
  const firsts = await Promise.all(
    Array.from({ length: 400 }, async (_, index) => {
      const { elements, meant } = (await env.tasks.at("train", index)).data;
      return [elements[0].name === meant, elements.find(({ isChecked }) => isChecked)!.name === meant];
    }),
  );
  for (const which of [0, 1]) {
    const share = firsts.filter((each) => each[which]).length / 400;
    expect(share).toBeGreaterThan(0.17);
    expect(share).toBeLessThan(0.33);
  }
});

test("keeps the promises of environments", async () => {
  expect((await checkEnv(picturedPage(), { tasks: 2, timeoutMs: 10_000 })).findings).toEqual([]);
});

test.each([{ view: "image" }, { elements: 1 }, { elements: 5 }, { openShare: 1.2 }, { veiw: "both" }])(
  "refuses %j",
  (options) => {
    expect(() => picturedPage(options as Partial<PicturedPageOptions>)).toThrow();
  },
);
