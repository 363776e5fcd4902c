import { expect, test } from "vitest";
import type { Task } from "../../schema/task.ts";
import type { Env } from "../env.ts";
import { type SearchQaOptions, type SearchQaState, type SearchQaTask, searchQa } from "./search-qa.ts";
import { playEpisode } from "./testing/play-episode.ts";

function tasksOf(env: Env<SearchQaTask, SearchQaState>, split: string, count: number): Promise<Task<SearchQaTask>[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => env.tasks.at(split, index)));
}

async function taskOf(options: Partial<SearchQaOptions>, hops: number): Promise<Task<SearchQaTask>> {
  const tasks = await tasksOf(searchQa(options), "train", 60);
  return tasks.find(({ data }) => data.relations.length === hops)!;
}

/** The same question of each style's knowledge base. */
const ask = (start: string, answer: string) => ({
  id: "king of land",
  seed: 1,
  data: { base: 0, start, relations: ["land", "king"], isPerson: true, answer },
});
const kingOfLand = { compact: ask("Nam", "Mel"), tags: ask("Zummez", "Rodpan") };

test("an episode in compact style: one line a search, the answer is copied", async () => {
  const env = searchQa();
  const { heard, turns, stop, scores } = await playEpisode(env, kingOfLand.compact, "expert");
  expect(heard).toEqual(["Nam land king?", "Nam land Gib", "Gib king Mel"]);
  expect(turns.map(({ text }) => text)).toEqual(["search Nam land", "search Gib king", "=Mel"]);
  expect(turns.at(-1)!.info).toEqual({ searches: 2, hops: 2 });
  expect(stop).toBe("completed");
  expect(scores.agent).toEqual({ total: 1, parts: { outcome: 1 }, success: true });
});

test("an episode in Search-R1's tags: three passages, numbered and titled", async () => {
  const env = searchQa({ style: "tags" });
  const { heard, turns, scores } = await playEpisode(env, kingOfLand.tags, "expert");
  expect(heard[0]).toMatch(/\nQuestion: Who is the king of the land of Zummez\?$/);
  expect(heard[1]).toBe(
    "\n\n<information>Doc 1(Title: Zummez) The land of Zummez is Fisnaf.\n" +
      "Doc 2(Title: Zummez) The mayor of Zummez is Kuznok.\n" +
      "Doc 3(Title: Paftet) The capital of Paftet is Zummez.</information>\n\n",
  );
  expect(turns.map(({ text }) => text)).toEqual([
    "<think>I need to know the land of Zummez.</think><search>land of Zummez</search>",
    "<think>I need to know the king of Fisnaf.</think><search>king of Fisnaf</search>",
    "<think>So it is Rodpan.</think><answer>Rodpan</answer>",
  ]);
  expect(turns.map(({ info }) => info!.searches)).toEqual([1, 2, 2]);
  expect(scores.agent.total).toBe(1);
});

test("a turn with neither search nor answer is answered in Search-R1's words", async () => {
  const env = searchQa({ style: "tags" });
  const { heard } = await playEpisode(env, kingOfLand.tags, ["hm", "<search></search>"]);
  const invalid =
    "\nMy previous action is invalid. If I want to search, I should put the query between <search> and </search>. " +
    "If I want to give the final answer, I should put the answer between <answer> and </answer>. Let me try again.\n";
  expect(heard.slice(1)).toEqual([invalid, invalid]);
});

test.each(["compact", "tags"] as const)("the expert answers every question (%s)", async (style) => {
  for (const kb of ["shared", "per-task"] as const) {
    const env = searchQa({ style, kb });
    for (const split of ["train", "test"]) {
      for (const task of await tasksOf(env, split, 100)) {
        const { scores, turns } = await playEpisode(env, task, "expert");
        expect(scores.agent.success).toBe(true);
        // of three passages one may be the next link already
        if (style === "compact") expect(turns.length).toBe(task.data.relations.length + 1);
      }
    }
  }
});

test("the expert goes on from what others have found, and does not know more", async () => {
  const env = searchQa({ turns: 10 });
  const task = await taskOf({ turns: 10 }, 3);
  const { start, relations } = task.data;
  const expert = await playEpisode(env, task, "expert");
  const links = expert.turns.slice(0, 3).map(({ observation }) => observation.split(" ").at(-1)!);
  const state = { ...(await env.start({ ...context, task: task.data })).state };
  const ask = () => env.expert!({ ...context, task: task.data, state, role: "agent", turn: 0 });
  state.seen.add(factOf(links[0], relations[1]));
  expect(ask()).toEqual({ calls: [{ name: "search", arguments: { query: `${start} ${relations[0]}` } }] });
  state.seen.add(factOf(start, relations[0]));
  expect(ask()).toEqual({ calls: [{ name: "search", arguments: { query: `${links[1]} ${relations[2]}` } }] });

  function factOf(subject: string, relation: string) {
    return state.base.factsOf.get(subject)!.find((fact) => fact.relation === relation)!;
  }
});

const context = {
  rng: { next: () => 0, normal: () => 0, integer: () => 0 },
  signal: new AbortController().signal,
};

test("a question of training is never one of testing", async () => {
  const env = searchQa();
  const keys = async (split: string) =>
    new Set((await tasksOf(env, split, 300)).map(({ data }) => `${data.start} ${data.relations}`));
  const [train, test] = [await keys("train"), await keys("test")];
  expect(test.size).toBeGreaterThan(50);
  expect([...test].filter((key) => train.has(key))).toEqual([]);
});

test("hops are as asked for, all of them, and no chain comes back to where it was", async () => {
  const tasks = await tasksOf(searchQa(), "train", 300);
  expect(new Set(tasks.map(({ data }) => data.relations.length))).toEqual(new Set([1, 2, 3]));
  expect(tasks.every(({ data }) => data.answer !== data.start)).toBe(true);
  const twos = await tasksOf(searchQa({ minHops: 2, maxHops: 2 }), "train", 50);
  expect(twos.every(({ data }) => data.relations.length === 2)).toBe(true);
});

test("a shared knowledge base is one, the others are each their own", async () => {
  const bases = async (kb: "shared" | "per-task") =>
    new Set((await tasksOf(searchQa({ kb, seed: 7 }), "train", 20)).map(({ data }) => data.base)).size;
  expect(await bases("shared")).toBe(1);
  expect(await bases("per-task")).toBe(20);
});

test("the last turn is for the answer: a search in it ends without one", async () => {
  const env = searchQa({ turns: 2 });
  const { stop, scores, turns } = await playEpisode(env, kingOfLand.compact, Array(5).fill("search Nam land"));
  expect([stop, turns.length, scores.agent.total]).toEqual(["max-turns", 2, 0]);
});

test("what is not known is said, in few words", async () => {
  const env = searchQa();
  const says = ["search qqq", "find it", "search"];
  const { heard } = await playEpisode(env, kingOfLand.compact, says);
  expect(heard[1]).toBe("nothing");
  expect(heard[2]).toBe("Error: no tool find; write search query or =answer");
  expect(heard[3]).toMatch(/^Error: wrong arguments for "search"/);
});

test("exact match looks past case, marks and articles; nothing else counts", async () => {
  const env = searchQa({ style: "tags" });
  const play = async (answer: string) =>
    (await playEpisode(env, kingOfLand.tags, [`<answer>${answer}</answer>`])).scores.agent.total;
  expect(await play(" The  rodpan. ")).toBe(1);
  expect(await play("Rodpan or Zummez")).toBe(0);
  expect(await play("")).toBe(0);
});

test("ReSearch's reward: nothing for a broken format, 0.1 for a right one alone, else F1", async () => {
  const env = searchQa({ style: "tags", reward: "f1-format" });
  const play = async (...says: string[]) => (await playEpisode(env, kingOfLand.tags, says)).scores.agent;
  expect(await play("<think>x</think><answer>Rodpan</answer>")).toMatchObject({ total: 1, success: true });
  expect(await play("<think>x</think><answer>King Rodpan</answer>")).toMatchObject({
    total: expect.closeTo(2 / 3, 9),
    success: false,
  });
  expect(await play("<think>x</think><answer>Zummez</answer>")).toMatchObject({ total: 0.1 });
  expect(await play("so <answer>Rodpan</answer>")).toMatchObject({ total: 0, success: true });
  expect(await play("hm", "<answer>Rodpan</answer>")).toMatchObject({ total: 0 });
  expect(await play("<answer></answer>")).toMatchObject({ total: 0 });
  const compact = searchQa({ reward: "f1-format" });
  const score = async (...says: string[]) => (await playEpisode(compact, kingOfLand.compact, says)).scores.agent.total;
  expect(await score("search Nam land", "=Mel")).toBe(1);
  expect(await score("look", "=Mel")).toBe(0);
  expect(await score("=Nam")).toBe(0.1);
});

test("what may be said holds what the expert says", async () => {
  const env = searchQa();
  const task = await taskOf({}, 2);
  const state = (await env.start({ ...context, task: task.data })).state;
  const asked = { ...context, task: task.data, state, role: "agent", turn: 0 };
  expect(env.actions!(asked)).toContainEqual(env.expert!(asked));
  expect(env.actions!(asked).length).toBeLessThan(10);
});

test("options out of range are refused", () => {
  expect(() => searchQa({ minHops: 3, maxHops: 2 })).toThrow("maxHops");
  expect(() => searchQa({ entities: 1 })).toThrow("entities");
});

test("where the environment retrieves, twice finds the second link of more chains than once", async () => {
  const world = { entities: 40, minHops: 2, maxHops: 2, kb: "per-task", passages: 3 } as const;
  const known = async (retrieve: "once" | "twice") => {
    const env = searchQa({ ...world, retrieve });
    let found = 0;
    for (let index = 0; index < 50; index++) {
      const { data } = await env.tasks.at("test", index);
      const { say } = await env.start({ task: data } as never);
      if (new RegExp(`${data.relations[1]} ${data.answer}$`, "m").test(say as string)) found++;
    }
    return found;
  };
  expect(await known("once")).toBeLessThan(15);
  expect(await known("twice")).toBeGreaterThan(35);
});
