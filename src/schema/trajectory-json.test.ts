import { expect, test } from "vitest";
import { createRng } from "../random.ts";
import { annotated, fakeTrajectory } from "./fake-trajectory.ts";
import { hintOf } from "./trajectory.ts";
import { trajectoryFromJson, trajectoryToJson } from "./trajectory-json.ts";

test("any trajectory comes back from JSON text", () => {
  const rng = createRng(1);
  for (let round = 0; round < 100; round++) {
    const trajectory = fakeTrajectory(rng);
    // text has no -0
    const plain = { ...trajectory, turns: trajectory.turns.map((turn) => ({ ...turn, reward: turn.reward + 0 })) };
    expect(trajectoryFromJson(JSON.parse(JSON.stringify(trajectoryToJson(trajectory))))).toEqual(plain);
  }
});

test("numbers that JSON lacks come back", () => {
  const score = { total: Number.NaN, parts: { up: Infinity, down: -Infinity }, success: false };
  const trajectory = fakeTrajectory(createRng(2), { score, temperature: Infinity });
  const back = trajectoryFromJson(JSON.parse(JSON.stringify(trajectoryToJson(trajectory))));
  expect(back.score).toEqual(score);
  expect(back.temperature).toBe(Infinity);
});

test("what top-p and top-k left comes back", () => {
  const trajectory = fakeTrajectory(createRng(2), { truncation: { topP: 0.9, topK: 20 } });
  const json = JSON.parse(JSON.stringify(trajectoryToJson(trajectory)));
  expect(trajectoryFromJson(json).truncation).toEqual({ topP: 0.9, topK: 20 });
  expect(() => trajectoryFromJson({ ...json, truncation: { topK: 0.5 } })).toThrow("truncation.topK = 0.5");
});

test("annotations come back, a hint with its tokens", () => {
  const hint = { kind: "plan", text: "go\non", prompt_P: Int32Array.of(3, 0, 2 ** 31 - 1) };
  const trajectory = annotated(fakeTrajectory(createRng(2)), { hint, goal: { kind: "relabelled", cells: [1, null] } });
  const json = JSON.parse(JSON.stringify(trajectoryToJson(trajectory)));
  expect(json.turns[0].annotations.hint.prompt_P).toEqual([3, 0, 2 ** 31 - 1]);
  expect(trajectoryFromJson(json).turns[0].annotations).toStrictEqual(trajectory.turns[0].annotations);
  json.turns[0].annotations.hint.prompt_P = [0.5];
  expect(() => trajectoryFromJson(json)).toThrow("turns.0.annotations.hint.prompt_P.0 = 0.5");
});

test("the name __proto__ is kept as any other", () => {
  const annotations = JSON.parse('{"__proto__":1}');
  const json = JSON.stringify(trajectoryToJson(annotated(fakeTrajectory(createRng(2)), annotations)));
  expect(Object.keys(trajectoryFromJson(JSON.parse(json)).turns[0].annotations!)).toEqual(["__proto__"]);
});

test("a hint that was stored as a field of the trajectory is read", () => {
  const guidance = { kind: "plan", text: "go on", prompt_P: [3, 0] };
  const { turns, ...json } = trajectoryToJson(annotated(fakeTrajectory(createRng(2)), {}));
  const { annotations: _annotations, ...first } = turns[0];
  const read = trajectoryFromJson({ ...json, turns: [first, ...turns.slice(1)], guidance });
  expect(hintOf(read)).toStrictEqual({ ...guidance, prompt_P: Int32Array.of(3, 0) });
  expect(read).not.toHaveProperty("guidance");
});

test("arguments keep every key a model wrote", () => {
  const json = JSON.parse(JSON.stringify(trajectoryToJson(fakeTrajectory(createRng(5), {}, { turns: 0 }))));
  const call = '{"name":"f","arguments":{"__proto__":1,"constructor":2},"outcome":"ok","observation":""}';
  json.turns = [{ span: { start: 0, end: 0 }, text: "", calls: [JSON.parse(call)], reward: 0, observation: "" }];
  expect(JSON.stringify(trajectoryToJson(trajectoryFromJson(json)).turns[0].calls[0])).toBe(call);
});

test("what is not known is left out again", () => {
  const { failure: _failure, ...json } = trajectoryToJson(fakeTrajectory(createRng(3), { stop: "completed" }));
  expect(Object.keys(trajectoryFromJson(json))).not.toContain("failure");
});

const span = { start: 0, end: "1" };
const wrong: [string, Record<string, unknown>, string][] = [
  ["a missing field", { rollout: undefined }, "rollout = undefined, expected string"],
  ["an unknown stop", { stop: "bored" }, 'stop = "bored", expected one of "completed"|'],
  ["a fractional token", { tokens_T: [1, 2.5] }, "tokens_T.1 = 2.5, expected int"],
  ["a token beyond 32 bits", { tokens_T: [2 ** 31] }, "tokens_T.0 = 2147483648"],
  ["a mask of 256", { mask_T: [256] }, "mask_T.0 = 256"],
  [
    "a reward in words",
    { score: { total: "much", parts: {}, success: true } },
    'score.total = "much", expected a number',
  ],
  [
    "a span in words",
    { turns: [{ span, text: "", calls: [], reward: 0, observation: "" }] },
    'turns.0.span.end = "1", expected number',
  ],
  ["arrays that do not line up", { tokens_T: [1, 2, 3], mask_T: [0] }, "bad-trajectory: got mask 1"],
];

test.each(wrong)("%s is named", (_name, fields, message) => {
  const json = { ...trajectoryToJson(fakeTrajectory(createRng(4), { id: "t7" })), ...fields };
  expect(() => trajectoryFromJson(json)).toThrow(message);
});

test("what is no object at all is named", () => {
  expect(() => trajectoryFromJson(null)).toThrow("bad-trajectory: got a trajectory with null, expected object");
});
