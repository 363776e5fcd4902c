import { describe, expect, test } from "vitest";
import { createRng } from "../../random.ts";
import type { Env } from "../env.ts";
import { Episode } from "../episode.ts";
import { functionCalling } from "./function-calling.ts";
import { miniForms } from "./mini-forms.ts";
import { searchQa } from "./search-qa.ts";
import { playEpisode } from "./testing/play-episode.ts";
import { virtualScreen } from "./virtual-screen.ts";

const styles = ["compact", "tags"] as const;
const worlds = styles.flatMap((style) =>
  [
    searchQa({ style }),
    searchQa({ style, kb: "per-task", reward: "f1-format" }),
    functionCalling({ style }),
    virtualScreen({ style }),
    virtualScreen({ style, task: "episode", view: "bitmap" }),
    virtualScreen({ style, task: "episode", actions: "computer-use" }),
    miniForms({ style }),
  ].map((env, index): [string, Env] => [`${env.name} ${index} (${style})`, env as Env]),
);

const hostile = [
  "",
  " \n\t",
  "\0\uD800",
  "=",
  "#",
  "search",
  "search{",
  "search __proto__ constructor",
  '{"action": "__proto__"}',
  "<answer>[[[[</answer>",
  "<think></think><answer>[{'action': 'type', 'text': '\\'}]</answer>",
  "<search><search></search>",
  "</answer><think>",
  "open_app __proto__",
  "input_text __proto__",
  "scroll down 999999",
  "left_click 999999 999999",
  "CLICK_ELEMENT 999",
  "🀄".repeat(50),
  "(".repeat(200_000),
  `search ${"word ".repeat(50_000)}`,
  `<search>${"word ".repeat(50_000)}</search>`,
];

describe.each(worlds)("%s", (_, env) => {
  test("whatever is said, an episode goes on or ends by itself, with a finite score", async () => {
    const task = await env.tasks.at("train", 3);
    let solved = 0;
    for (const text of hostile) {
      const { stop, failure, scores, turns } = await playEpisode(env, task, Array(50).fill(text));
      expect(failure).toBeUndefined();
      expect(["completed", "max-turns"]).toContain(stop);
      expect(Number.isFinite(scores.agent.total)).toBe(true);
      solved += scores.agent.success ? 1 : 0;
      expect(turns.length).toBeLessThanOrEqual(env.limits.turns);
    }
    // what was meant to harm may be what was asked for: an overlong scroll is a scroll
    expect(solved).toBeLessThanOrEqual(1);
  });

  test("a random player gets through, and the same words give the same episode", async () => {
    const rng = createRng(5);
    for (let i = 0; i < 20; i++) {
      const task = await env.tasks.at("test", i);
      const episode = new Episode(env, task, { signal: new AbortController().signal });
      const says: string[] = [];
      let next = await episode.start();
      while ("role" in next) {
        const possible = episode.possibleTexts();
        expect(possible.length).toBeGreaterThan(1);
        says.push(possible[rng.integer(possible.length)]);
        next = await episode.step(says.at(-1)!);
      }
      const { turns, stop, scores } = await episode.finish(next);
      expect(["completed", "max-turns"]).toContain(stop);
      expect(await playEpisode(env, task, says)).toMatchObject({ turns, stop, scores });
    }
  });

  test("tasks are plain data, the same each time", async () => {
    for (const split of env.tasks.splits) {
      const task = await env.tasks.at(split, 2);
      expect(await env.tasks.at(split, 2)).toEqual(task);
      expect(JSON.parse(JSON.stringify(task))).toEqual(task);
    }
  });

  test("what the expert says keeps to the format and fits the limits", async () => {
    for (let i = 0; i < 50; i++) {
      const { heard, turns } = await playEpisode(env, await env.tasks.at("train", i), "expert");
      expect(Math.max(...heard.map(({ length }) => length))).toBeLessThan(env.limits.observationChars);
      const tools = Object.entries(env.tools ?? {}).map(([name, { spec }]) => ({ name, ...spec }));
      expect(turns.every(({ text }) => env.format.parse(text, tools).isWellFormed)).toBe(true);
      // a tokenizer of bytes needs one for each, and one to end the turn
      expect(Math.max(...turns.map(({ text }) => text.length + 1))).toBeLessThanOrEqual(env.limits.turnTokens);
    }
  });
});
