import { describe, expect, test } from "vitest";
import { defineEnv } from "../env/define-env.ts";
import { listed } from "../task/listed.ts";
import { fakeGuideContext } from "./fake-guide-context.ts";
import { guideContract } from "./guide.contract.ts";
import { inOrder } from "./in-order.ts";

describe("in order", () => guideContract(inOrder));

const env = defineEnv({
  name: "five",
  tasks: listed({ train: ["a", "b", "c", "d", "e"], test: ["z"] }),
  start: ({ task }) => ({ state: {}, say: task }),
});
const make = () => inOrder()(fakeGuideContext(env));

test("tasks come in turn, and from the beginning when there are no more", async () => {
  const guide = make();
  const words = async (count: number) => (await guide.pick(count)).map(({ task }) => task.data);
  expect(await words(2)).toEqual(["a", "b"]);
  expect(await words(4)).toEqual(["c", "d", "e", "a"]);
  expect(guide.metrics()).toEqual({ "guide/tasks": 6 });
});

test("a state without leases, as it was stored before there were any, is restored", async () => {
  const guide = make();
  guide.restore({ next: 3 });
  expect((await guide.pick(1))[0].task.data).toBe("d");
});

test("a state that is none is named", () => {
  const expected = "bad-guide-state: got the state of in-order with next = -1";
  expect(() => make().restore({ next: -1 })).toThrow(expected);
});
