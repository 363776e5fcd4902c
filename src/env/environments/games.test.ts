import { describe, expect, test } from "vitest";
import { createRng } from "../../random.ts";
import type { Env } from "../env.ts";
import { bandit } from "./bandit.ts";
import { countdown } from "./countdown.ts";
import { frozenLake } from "./frozen-lake.ts";
import { keyDoor } from "./key-door.ts";
import { lock } from "./lock.ts";
import { sokoban } from "./sokoban.ts";
import { playEpisode } from "./testing/play-episode.ts";

const styles = ["compact", "tags"] as const;
const games = styles.flatMap((style) =>
  [
    bandit({ style }),
    countdown({ style }),
    frozenLake({ style }),
    keyDoor({ style, subgoals: "repeatable" }),
    lock({ style, tries: 5, feedback: "places" }),
    sokoban({ style }),
  ].map((env): [string, Env] => [`${env.name} (${style})`, env as Env]),
);

const hostile = [
  "",
  " \n\t",
  "\0\uD800",
  "<answer>",
  "</answer><think>",
  "<think></think><answer></answer>",
  "U || || D <answer>Up</answer>",
  "__proto__",
  "constructor",
  "constructor || toString",
  "((((((((((",
  "1/0",
  "🀄".repeat(50),
  "(".repeat(200_000),
  `<think>x</think><answer>${"Up || ".repeat(50_000)}</answer>`,
];

describe.each(games)("%s", (_, env) => {
  test("whatever is said, an episode goes on or ends by itself, with a finite score", async () => {
    for (const text of hostile) {
      const { stop, failure, scores, turns } = await playEpisode(
        env,
        await env.tasks.at("train", 3),
        Array(200).fill(text),
      );
      expect(failure).toBeUndefined();
      expect(["completed", "max-turns"]).toContain(stop);
      expect(Number.isFinite(scores.agent.total)).toBe(true);
      // slippery ice may carry anyone who moves
      if (env.name !== "frozen-lake") expect(scores.agent.success).toBe(false);
      expect(turns.length).toBeLessThanOrEqual(env.limits.turns);
    }
  });

  test("the same task and the same words give the same episode", async () => {
    const rng = createRng(5);
    const words = ["Up", "Left", "Right", "Down", "Take", "Open", "Dragon", "1+2"].map((word) =>
      env.format.write({ answer: env.format.name === "plain" && word.length < 6 ? word[0] : word }),
    );
    for (let i = 0; i < 10; i++) {
      const says = Array.from({ length: 200 }, () => words[rng.integer(words.length)]);
      const play = async () => playEpisode(env, await env.tasks.at("test", i), says);
      expect(await play()).toEqual(await play());
    }
  });

  test("every split has tasks, and the expert speaks the format", async () => {
    for (const split of env.tasks.splits) {
      const { turns, stop, failure } = await playEpisode(env, await env.tasks.at(split, 0), "expert");
      expect(failure).toBeUndefined();
      expect(turns.length).toBeGreaterThan(0);
      expect(["completed", "max-turns"]).toContain(stop);
      expect(turns.every(({ text }) => env.format.parse(text).isWellFormed)).toBe(true);
    }
  });

  test("what is read and said fits the limits", async () => {
    const { heard, turns } = await playEpisode(env, await env.tasks.at("train", 0), "expert");
    expect(Math.max(...heard.map(({ length }) => length))).toBeLessThan(env.limits.observationChars);
    // a tokenizer of bytes needs one for each, and one to end the turn
    if (env.format.name === "plain") {
      expect(Math.max(...turns.map(({ text }) => text.length + 1))).toBeLessThanOrEqual(env.limits.turnTokens);
    }
  });
});
