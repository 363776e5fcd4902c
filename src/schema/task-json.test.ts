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

test("a hint comes back with its task", () => {
  const guidance = { kind: "plan", text: "go on", failures: [0, Number.NaN] };
  expect(taskFromJson({ id: "a", seed: 7, data: 1, guidance })).toEqual({ id: "a", seed: 7, data: 1, guidance });
  expect(() => taskFromJson({ id: "a", seed: 7, guidance: { kind: "plan" } })).toThrow("guidance.text = undefined");
});

test("what is no task is named", () => {
  expect(() => taskFromJson({ id: 4, seed: 7 })).toThrow("bad-task: got a task with id = 4, expected string");
});
