import { expect, test } from "vitest";
import { checkEnv } from "../check-env.ts";
import { Episode } from "../episode.ts";
import { browserEnv } from "./browser-env.ts";
import { taskKinds } from "./task-kinds.ts";

const { signal } = new AbortController();

async function playExpert(env: ReturnType<typeof browserEnv>, split: string, index: number) {
  const task = await env.tasks.at(split, index);
  const episode = new Episode(env, task, { signal });
  let next = await episode.start();
  while ("role" in next) next = await episode.step(episode.expertSays() ?? "");
  return { task: task.data, ...(await episode.finish(next)) };
}

test.each(["playwright", "do", "names"] as const)(
  "an expert solves every kind of task with actions of %s",
  async (actions) => {
    for (const view of ["full", "compact", "changes", "brief"] as const) {
      const env = browserEnv({ actions, view });
      const seen = new Map<string, number>();
      for (const split of ["train", "test", "new-kinds"]) {
        for (let index = 0; index < 60; index++) {
          const { task, stop, scores, failure } = await playExpert(env, split, index);
          expect([task.kind, stop, scores.agent.success, failure]).toEqual([task.kind, "completed", true, undefined]);
          expect(taskKinds.find(({ name }) => name === task.kind)?.isHeldOut ?? false).toBe(split === "new-kinds");
          seen.set(task.kind, (seen.get(task.kind) ?? 0) + 1);
        }
      }
      expect(seen.size).toBe(taskKinds.length);
    }
  },
);

test("each kind has hundreds of different tasks", async () => {
  const env = browserEnv();
  const found = new Map<string, Set<string>>(taskKinds.map(({ name }) => [name, new Set()]));
  for (const split of ["train", "new-kinds"]) {
    for (let index = 0; index < 4000; index++) {
      const { kind, instruction, world } = (await env.tasks.at(split, index)).data;
      found.get(kind)!.add(`${world} ${instruction}`);
    }
  }
  for (const [kind, tasks] of found) expect([kind, tasks.size > 200]).toEqual([kind, true]);
});

test("what was not done is not rewarded", async () => {
  const env = browserEnv();
  for (let index = 0; index < 40; index++) {
    const episode = new Episode(env, await env.tasks.at("train", index), { signal });
    await episode.start();
    const result = await episode.finish(
      await episode.step("done").then((next) => ("stop" in next ? next : { stop: "completed" })),
    );
    expect(result.scores.agent.success).toBe(false);
  }
});

test("keeps its promises", async () => {
  for (const actions of ["do", "names", "playwright"] as const)
    await checkEnv(browserEnv({ view: "compact", actions }), { tasks: 4 });
}, 60_000);

test("a misspelt option is an error", () => {
  expect(() => browserEnv({ page: "dom" } as never)).toThrow("page");
  expect(() => browserEnv({ viewTokens: 1 })).toThrow("viewTokens");
  expect(() => browserEnv({ sites: ["forum"], levels: [2] }).tasks.at("new-kinds", 0)).toThrow("no kind of task");
});

test("without a browser that starts, an episode ends with what to do", async () => {
  const env = browserEnv({ pages: "chromium", chromium: { executable: "/no/such/browser" } });
  const episode = new Episode(env, await env.tasks.at("train", 0), { signal });
  const result = await episode.finish((await episode.start()) as { stop: "env-crash" });
  expect(result).toMatchObject({ stop: "env-crash", failure: expect.stringContaining("setup-browser.sh") });
});

test("an episode goes on twice from a copy, neither of which changes the other", async () => {
  const env = browserEnv({ actions: "names", sites: ["shop"], levels: [3] });
  const episode = new Episode(env, await env.tasks.at("train", 0), { signal });
  let next = await episode.start();
  // into the middle of the form of the login
  for (let turn = 0; turn < 2 && "role" in next; turn++) next = await episode.step(episode.expertSays() ?? "");
  const copy = await episode.copy(1, {});
  const ended = async (one: typeof episode) => {
    let now: typeof next = next;
    while ("role" in now) now = await one.step(one.expertSays() ?? "");
    return one.finish(now);
  };
  const first = await ended(copy);
  const second = await ended(episode);
  expect(first.scores.agent.success).toBe(true);
  expect(second.turns).toEqual(first.turns);
  expect(second.scores.agent.success).toBe(true);
});
