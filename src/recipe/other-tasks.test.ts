import { expect, test } from "vitest";
import { defineEnv } from "../env/define-env.ts";
import type { Env } from "../env/env.ts";
import { bandit } from "../env/environments/bandit.ts";
import { generated } from "../task/generated.ts";
import { listed } from "../task/listed.ts";
import type { TaskSource } from "../task/task-source.ts";
import { withOtherTasks } from "./other-tasks.ts";

const over = <Data>(tasks: TaskSource<Data>) =>
  defineEnv<Data, object>({ name: "words", tasks, start: () => ({ state: {}, say: "?" }) });

const dataOf = async <Data>({ tasks }: Pick<Env<Data>, "tasks">, split: string, count: number) =>
  Promise.all(Array.from({ length: count }, async (_, index) => (await tasks.at(split, index)).data));

test("an endless source gives tasks with another content than those that are reported", async () => {
  const env = over(generated((rng) => rng.integer(40)));
  const reported = new Set(await dataOf(env, "test", 30));
  expect(reported.size).toBeLessThan(40);
  const other = withOtherTasks(env, "test", 30);
  const drawn = await dataOf(other.env, other.split, 100);
  expect(drawn.filter((data) => reported.has(data))).toEqual([]);
  expect(await dataOf(other.env, "train", 3)).toEqual(await dataOf(env, "train", 3));
});

test("a world without other contents gives other seeds", async () => {
  const env = bandit();
  const other = withOtherTasks(env, "test", 300);
  expect((await other.env.tasks.at("test", 0)).seed).not.toBe((await env.tasks.at("test", 0)).seed);
});

test("a list gives what follows the tasks that are reported, and no more than that", async () => {
  const env = over(listed({ train: ["a"], test: ["b", "c", "d", "e"] }));
  const other = withOtherTasks(env, "test", 2);
  expect(other.env.tasks.size("test")).toBe(2);
  expect(await dataOf(other.env, "test", 3)).toEqual(["d", "e", "d"]);
});

test("a list that is reported whole is refused", () => {
  const env = over(listed({ train: ["a"], test: ["b", "c"] }, { name: "letters" }));
  expect(() => withOtherTasks(env, "test", 300)).toThrow(
    /no-other-tasks: got 2 tasks in "test" of letters, where 300 are reported, expected further ones.*split "validation"/s,
  );
});

test("a split of its own for validation is taken; a list of training tasks stays what it is", () => {
  const env = over(listed({ train: ["a"], validation: ["v"], test: ["b"] }));
  expect(withOtherTasks(env, "test", 300)).toEqual({ env, split: "validation" });
  expect(withOtherTasks(env, "train", 300)).toEqual({ env, split: "train" });
});
