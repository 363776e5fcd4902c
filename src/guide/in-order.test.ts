import { expect, test } from "vitest";
import { defineEnv } from "../env/define-env.ts";
import { listed } from "../task/listed.ts";
import { inOrder } from "./in-order.ts";

const env = defineEnv({
  name: "five",
  tasks: listed({ train: ["a", "b", "c", "d", "e"], test: ["z"] }),
  start: ({ task }) => ({ state: {}, say: task }),
});

const words = async (guide: ReturnType<ReturnType<typeof inOrder>>, count: number) =>
  (await guide.pick(count)).map(({ data }) => data);

test("tasks come in turn, and from the beginning when there are no more", async () => {
  const guide = inOrder()(env, "train");
  expect(await words(guide, 2)).toEqual(["a", "b"]);
  expect(await words(guide, 4)).toEqual(["c", "d", "e", "a"]);
  expect(guide.metrics()).toEqual({ "guide/tasks": 6 });
});

test("a restored guide goes on where the other was", async () => {
  const guide = inOrder()(env, "train");
  await guide.pick(7);
  const state = JSON.parse(JSON.stringify(guide.state()));
  const resumed = inOrder()(env, "train");
  resumed.restore(state);
  expect(await resumed.pick(3)).toEqual(await guide.pick(3));
  expect(resumed.metrics()).toEqual(guide.metrics());
});

test("a state that is none is refused", () => {
  expect(() => inOrder()(env, "train").restore({ next: -1 })).toThrow();
  expect(() => inOrder()(env, "train").restore(undefined)).toThrow();
});
