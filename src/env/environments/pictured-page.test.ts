import { expect, test } from "vitest";
import { checkEnv } from "../check-env.ts";
import { type PicturedPageOptions, type PicturedPageTask, picturedPage } from "./pictured-page.ts";
import { playEpisode } from "./testing/play-episode.ts";

const data: PicturedPageTask = {
  instruction: "top",
  elements: [
    { ref: 2, label: "save", row: 3, column: 0 },
    { ref: 1, label: "edit", row: 1, column: 2 },
    { ref: 3, label: "help", row: 2, column: 3 },
  ],
  ref: 1,
  isOpen: true,
};
const task = { id: "t", seed: 0, data };
const text = ["save 2", "edit 1", "help 3"];
const picture = ["....", "..1.", "...3", "2..."];
const blank = Array(4).fill("....");

test.each([
  ["text", text],
  ["both", [...text, ...picture]],
  ["blank", [...text, ...blank]],
  ["bitmap", picture],
] as const)("shows %s", async (view, expected) => {
  const { heard, scores } = await playEpisode(picturedPage({ view }), task, ["1"]);
  expect(heard).toEqual([[...expected, "top"].join("\n")]);
  expect(scores.agent.success).toBe(true);
  expect((await playEpisode(picturedPage({ view }), task, ["2"])).scores.agent.success).toBe(false);
});

const places: Readonly<Record<string, (lines: readonly string[]) => string | undefined>> = {
  top: (lines) => lines.join("").match(/\d/)?.[0],
  bottom: (lines) => lines.join("").match(/\d(?=\D*$)/)?.[0],
  left: (lines) => lines.toSorted((a, b) => a.search(/\d/) - b.search(/\d/))[0].match(/\d/)?.[0],
  right: (lines) => lines.toSorted((a, b) => b.search(/\d/) - a.search(/\d/))[0].match(/\d/)?.[0],
};

test("the text tells labels and the picture places, and half of the tasks need the picture", async () => {
  const env = picturedPage();
  let open = 0;
  for (let index = 0; index < 200; index++) {
    const drawn = await env.tasks.at("train", index);
    const { instruction, ref, isOpen } = drawn.data;
    const lines = (await playEpisode(env, drawn, ["1"])).heard[0].split("\n");
    expect(lines.at(-1)).toBe(instruction);
    const byPlace = places[instruction]?.(lines.slice(4, 8));
    const byLabel = lines.find((line) => line.startsWith(`${instruction} `))?.at(-1);
    expect(byPlace ?? byLabel).toBe(`${ref}`);
    expect([byPlace === undefined, byLabel === undefined]).toEqual([!isOpen, isOpen]);
    open += Number(isOpen);
  }
  expect(open).toBeGreaterThan(70);
  expect(open).toBeLessThan(130);
});

test("the order of the text says nothing about places", async () => {
  const env = picturedPage({ openShare: 1 });
  const firsts = await Promise.all(
    Array.from({ length: 400 }, async (_, index) => {
      const { elements, ref } = (await env.tasks.at("train", index)).data;
      return [elements[0].ref === ref, ref === 1];
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
