import { expect, test } from "vitest";
import { hermes } from "../../policy/formats/hermes.ts";
import { checkEnv } from "../check-env.ts";
import { Episode } from "../episode.ts";
import { projectRules } from "./project-rules.ts";
import { playEpisode } from "./testing/play-episode.ts";

const { signal } = new AbortController();
const count = 200;

/** The share of tasks that are solved by someone who reads the first messages and says an ending. */
async function success(env: ReturnType<typeof projectRules>, choose: (system: string) => string): Promise<number> {
  let solved = 0;
  for (let index = 0; index < count; index++) {
    const task = await env.tasks.at("train", index);
    const episode = new Episode(env, task, { signal });
    const move = await episode.start();
    const system = "role" in move ? move.messages[0].content : "";
    const path = `${task.data.folder}/${task.data.module}${choose(system)}`;
    const end = await episode.step(hermes().write({ calls: [{ name: "create_file", arguments: { path } }] }));
    if ("stop" in end && (await episode.finish(end)).scores.agent.success) solved++;
  }
  return solved / count;
}

const told = (system: string) => Array.from(system.matchAll(/Test files end in (\S+)/g), ([, ending]) => ending);

test("following the nearest file is the difference", async () => {
  const env = projectRules({ style: "tags" });
  expect(await success(env, (system) => told(system).at(-1)!)).toBe(1);
  const farthest = await success(env, (system) => told(system)[0]);
  expect(farthest).toBeGreaterThan(0.4);
  expect(farthest).toBeLessThan(0.6);
  const never = await success(env, () => ".test.ts");
  expect(never).toBeGreaterThan(0.15);
  expect(never).toBeLessThan(0.35);
});

test("hidden rules are not in the prompt", async () => {
  expect(
    await success(projectRules({ style: "tags", rules: "hidden" }), (system) => told(system).at(-1) ?? ".none"),
  ).toBe(0);
});

test.each(["told", "hidden"] as const)("keeps its promises with rules %s", async (rules) => {
  for (const style of ["compact", "tags"] as const) {
    const { findings } = await checkEnv(projectRules({ style, rules }), { tasks: 2, timeoutMs: 10_000 });
    expect(findings).toEqual([]);
  }
});

test("in compact style, files and calls are a line each", async () => {
  const nested = { folder: "packages/web", module: "cart", projectEnding: ".test.ts", packageEnding: ".spec.ts" };
  const task = { id: "t", seed: 0, data: nested };
  const told = await playEpisode(projectRules({ style: "compact" }), task, ["create_file packages/web/cart.spec.ts"]);
  expect(told.heard).toEqual(["AGENTS.md .test.ts\npackages/web/AGENTS.md .spec.ts\ntest packages/web/cart.ts"]);
  expect(told.scores.agent.success).toBe(true);
  const hidden = await playEpisode(projectRules({ style: "compact", rules: "hidden" }), task, "expert");
  expect([hidden.heard[0], hidden.scores.agent.success]).toEqual(["test packages/web/cart.ts", true]);
});

test("what the expert says is one of the actions, and is right", async () => {
  const env = projectRules({ style: "tags", seed: 3 });
  const task = await env.tasks.at("test", 0);
  const episode = new Episode(env, task, { signal });
  await episode.start();
  expect(episode.possibleTexts()).toHaveLength(4);
  expect(episode.possibleTexts()).toContain(episode.expertSays());
  const end = await episode.step(episode.expertSays()!);
  expect(end).toEqual({ stop: "completed" });
  expect((await episode.finish({ stop: "completed" })).scores.agent.success).toBe(true);
});

test("an unknown value of an option is refused", () => {
  expect(() => projectRules({ rules: "hiden" as "hidden" })).toThrow('Did you mean "hidden"?');
});
