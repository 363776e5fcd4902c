import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { Env } from "../env.ts";
import { slide, slips } from "../environments/frozen-lake-rules.ts";
import { moves } from "../environments/moves.ts";
import { Episode } from "../episode.ts";
import { listPythonEnvs, pythonEnv } from "./python-env.ts";

// scripts/setup-environments.sh; LUDUS_ENVIRONMENTS=.venv-environments/bin/python npm run test:slow -- python-env
const python = process.env.LUDUS_ENVIRONMENTS;
const chances = fileURLToPath(new URL("fixtures/lake_chances.py", import.meta.url));
const Outcome = z.tuple([z.number(), z.number(), z.number(), z.boolean()]);
const { signal } = new AbortController();

async function play(env: Env<never, never>, next: (heard: string) => string, seed = 3) {
  const own = env as unknown as Env;
  const episode = new Episode(own, { id: "t", seed, data: { seed } }, { signal });
  const heard: string[] = [];
  let move = await episode.start();
  while ("role" in move) {
    heard.push(move.messages.map(({ content }) => content).join("\n"));
    move = await episode.step(next(heard.at(-1)!));
  }
  return { ...(await episode.finish(move)), heard };
}
const playAny = (env: unknown, next: (heard: string) => string, seed?: number) =>
  play(env as Env<never, never>, next, seed);

describe.skipIf(!python)("Python's environments", () => {
  test("reasoning-gym: a sum, right and wrong, and the same again with the same seed", async () => {
    const env = pythonEnv({ from: "reasoning-gym", name: "chain_sum", options: { max_terms: 2, max_digits: 1 } });
    // biome-ignore lint/security/noGlobalEval: digits and signs of a generator
    const solve = (heard: string) => String(eval(/([\d+\- ]+)=/.exec(heard)![1]!));
    const right = await playAny(env, solve);
    expect([right.stop, right.scores.agent]).toMatchObject(["completed", { total: 1, success: true }]);
    const wrong = await playAny(env, () => "no idea");
    expect([wrong.stop, wrong.scores.agent.success]).toEqual(["completed", false]);
    expect(wrong.heard).toEqual(right.heard);
    const many = await Promise.all(Array.from({ length: 300 }, (_, seed) => playAny(env, solve, seed)));
    expect(many.filter(({ scores }) => scores.agent.success).length).toBe(300);
    expect((await listPythonEnvs("reasoning-gym")).length).toBeGreaterThan(90);
  });

  test("textarena: guesses are answered by what is new", async () => {
    const env = pythonEnv({ from: "textarena", name: "GuessTheNumber-v0" });
    let [low, high] = [1, 20];
    let last = 0;
    const { stop, scores, heard } = await playAny(env, (text) => {
      if (text.includes("is higher")) low = last + 1;
      if (text.includes("is lower")) high = last - 1;
      last = Math.floor((low + high) / 2);
      return `[${last}]`;
    });
    expect([stop, scores.agent.total]).toEqual(["completed", 1]);
    expect(heard[0]).toContain("Guess The Number");
    expect(heard.slice(1).some((text) => text.includes("Guess The Number"))).toBe(false);
  });

  test("gymnasium: firm ice, step by step as ours; slippery ice with the same chances", async () => {
    const rows = ["SFHF", "FFFF", "HFHF", "FFFG"];
    const lake = { size: 4, cells: rows.join("").replace("S", "_").replaceAll("F", "_").replaceAll("H", "O") };
    const env = pythonEnv({ from: "gymnasium", name: "FrozenLake-v1", options: { desc: rows, is_slippery: false } });
    // every sequence of three moves, then on with the first move for ever
    for (let code = 0; code < 64; code++) {
      const said = [code & 3, (code >> 2) & 3, (code >> 4) & 3];
      let position = 0;
      const { turns } = await playAny({ ...env, limits: { ...env.limits, turns: 3 } }, (heard) => {
        expect(Number(heard.split("\n")[0])).toBe(position);
        const action = said[0]!;
        position = slide(lake, position, moves[action]!);
        said.push(said.shift()!);
        return String(action);
      });
      const last = turns.at(-1)!;
      expect(Number(last.observation.split("\n")[0])).toBe(position);
      expect(last.reward).toBe(lake.cells[position] === "G" ? 1 : 0);
    }
    const slippery = pythonEnv({
      from: "gymnasium",
      name: "FrozenLake-v1",
      options: { desc: rows, is_slippery: true },
    });
    const asked = await playAny({ ...slippery, limits: { ...slippery.limits, turns: 2 } }, () => "north");
    expect(asked.heard[1]).toBe("Error: expected a whole number from 0 to 3");
    // of every cell and move: how likely each outcome is, what it pays, whether it ends
    const { stdout } = await promisify(execFile)(python!, [chances, JSON.stringify(rows)]);
    const theirs = z.record(z.string(), z.record(z.string(), z.array(Outcome))).parse(JSON.parse(stdout));
    for (let position = 0; position < lake.cells.length; position++) {
      // an episode that is over has no moves
      if (lake.cells[position] !== "_") continue;
      for (const [action, move] of moves.entries()) {
        const ours = slips(move).map((slip) => slide(lake, position, slip));
        const told = theirs[position]![action]!;
        const chanceOf = (cell: number) => told.reduce((sum, [chance, to]) => sum + (to === cell ? chance : 0), 0);
        for (const cell of Array.from(lake.cells, (_, i) => i))
          expect(chanceOf(cell)).toBeCloseTo(ours.filter((to) => to === cell).length / 3, 12);
        for (const [, to, reward, isOver] of told)
          expect([reward, isOver]).toEqual([lake.cells[to] === "G" ? 1 : 0, lake.cells[to] !== "_"]);
      }
    }
  });

  test("what is not there is said", async () => {
    const lost = await playAny(pythonEnv({ from: "gymnasium", name: "NoSuchLake-v1" }), () => "0");
    expect([lost.stop, lost.failure]).toEqual(["env-crash", expect.stringContaining("unknown-env")]);
  });
});
