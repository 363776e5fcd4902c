import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import type { Env } from "../env.ts";
import { Episode } from "../episode.ts";
import { listPythonEnvs, pythonEnv } from "./python-env.ts";

// scripts/setup-environments.sh; LUDUS_ENVIRONMENTS=.venv-environments/bin/python npm run test:slow -- verifiers
const python = process.env.LUDUS_ENVIRONMENTS;
process.env.PYTHONPATH = fileURLToPath(new URL("fixtures/tasksets", import.meta.url));
const { signal } = new AbortController();

async function play(name: string, next: (heard: string) => string, seed = 1, options = {}) {
  const env = pythonEnv({ from: "verifiers", name, options }) as unknown as Env;
  const episode = new Episode(env, { id: "t", seed, data: { seed } }, { signal });
  const heard: string[] = [];
  let move = await episode.start();
  while ("role" in move) {
    heard.push(move.messages.map(({ content }) => content).join("\n"));
    move = await episode.step(next(heard.at(-1)!));
  }
  return { ...(await episode.finish(move)), heard };
}
const backwards = (heard: string) =>
  Array.from(/: (\w+)$/.exec(heard)![1]!)
    .reverse()
    .join("");

describe.skipIf(!python)("verifiers", () => {
  test("one turn: the prompt, and what the rubric gives", async () => {
    const right = await play("ludus-words", backwards);
    expect(right.heard).toEqual(["Answer with one word.\n\nWrite backwards: stone"]);
    expect([right.stop, right.scores.agent]).toMatchObject(["completed", { total: 1, success: true }]);
    const wrong = await play("ludus-words", () => "enot");
    expect([wrong.stop, wrong.scores.agent]).toMatchObject(["completed", { total: 0.25, success: false }]);
    // options are the taskset's: with one task, every seed is of it
    const only = await play("ludus-words", backwards, 3, { tasks: 1 });
    expect(only.heard[0]).toContain("lamp");
  });

  test("several turns of an environment's own loop", async () => {
    let [low, high] = [0, 7];
    let last = 0;
    const { stop, scores, heard } = await play(
      "ludus-guess",
      (text) => {
        if (text === "higher") low = last + 1;
        if (text === "lower") high = last - 1;
        last = Math.floor((low + high) / 2);
        return String(last);
      },
      6,
    );
    expect([stop, scores.agent.total]).toEqual(["completed", 1]);
    expect(heard).toEqual(["Guess a number from 0 to 7.", "higher", "higher"]);
  });

  test("a hundred episodes at once", async () => {
    const played = await Promise.all(Array.from({ length: 100 }, (_, seed) => play("ludus-words", backwards, seed)));
    expect(played.filter(({ scores }) => scores.agent.success).length).toBe(100);
  });

  test("an exception in the environment ends its episode; names, and what is none", async () => {
    const crashed = await play("ludus-guess", () => "no number");
    expect([crashed.stop, crashed.failure]).toEqual(["env-crash", expect.stringMatching(/invalid literal for int/)]);
    expect(await listPythonEnvs("verifiers")).toContain("textarena");
    const unknown = await play("no-such-taskset", () => "");
    expect([unknown.stop, unknown.failure]).toEqual([
      "env-crash",
      expect.stringMatching(/unknown-env.*--from verifiers/),
    ]);
    const misspelt = await play("ludus-words", () => "", 1, { task: { judgess: 1 } });
    expect(misspelt.failure).toMatch(/judgess/);
  });
});
