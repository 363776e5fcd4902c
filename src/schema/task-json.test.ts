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

test("difficulty, parent and annotations come back", () => {
  const annotations = { hint: { kind: "plan", text: "go on" }, failures: [0, 0.5], note: { deep: [null, true] } };
  const task = { id: "a", seed: 7, data: 1, difficulty: 0.25, parent: "b", annotations };
  expect(taskFromJson(JSON.parse(JSON.stringify(task)))).toEqual(task);
  const wrong = { id: "a", seed: 7, annotations: { hint: { kind: "plan" } } };
  expect(() => taskFromJson(wrong)).toThrow("annotations.hint.text = undefined");
  expect(() => taskFromJson({ id: "a", seed: 7, annotations: [] })).toThrow("annotations = [], expected an object");
});

test("a hint that was stored as a field of the task is read", () => {
  const [hint, failures] = [{ kind: "plan", text: "go on" }, [0, Number.NaN]];
  expect(taskFromJson({ id: "a", seed: 7, data: 1, guidance: { ...hint, failures } })).toEqual({
    id: "a",
    seed: 7,
    data: 1,
    annotations: { hint, failures },
  });
});

test("what is no task is named", () => {
  expect(() => taskFromJson({ id: 4, seed: 7 })).toThrow("bad-task: got a task with id = 4, expected string");
});
