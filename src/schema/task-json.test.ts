import { expect, test } from "vitest";
import { taskFromJson } from "./task-json.ts";

test("a task comes back, whatever its data", () => {
  for (const data of [undefined, null, 3, ["a"], { deep: { question: "?" } }]) {
    expect(taskFromJson({ id: "a", seed: 7, data })).toEqual({ id: "a", seed: 7, data });
  }
  expect(taskFromJson({ id: "a", seed: 7, domain: "mathematics" })).toEqual({
    id: "a",
    seed: 7,
    domain: "mathematics",
  });
});

test("what is no task is named", () => {
  expect(() => taskFromJson({ id: 4, seed: 7 })).toThrow("bad-task: got a task with id = 4, expected string");
});
