import { expect, test } from "vitest";
import { makeTrainBatch, type TrainRow } from "./train-batch.ts";

const zeros = new Float32Array(3);
const row: TrainRow = {
  id: "row",
  group: "group",
  rollout: "rollout",
  role: "agent",
  tokens_T: Int32Array.of(1, 2, 3),
  mask_T: Uint8Array.of(0, 1, 1),
  turns: [{ start: 1, end: 3 }],
  weight: 1,
  behaviourLogprobs_T: zeros,
  oldLogprobs_T: zeros,
  advantages_T: zeros,
  reward: 1,
};

test("rows whose arrays line up are a batch", () => {
  const rows = [row, { ...row, referenceLogprobs_T: zeros, returns_T: zeros, oldValues_T: zeros }];
  expect(makeTrainBatch(rows)).toEqual({ rows });
  expect(makeTrainBatch([])).toEqual({ rows: [] });
});

const arrays = [
  "behaviourLogprobs_T",
  "oldLogprobs_T",
  "referenceLogprobs_T",
  "advantages_T",
  "returns_T",
  "oldValues_T",
] as const;

test.each(arrays)("%s of another length is named", (name) => {
  expect(() => makeTrainBatch([row, { ...row, [name]: new Float32Array(4) }])).toThrow(`got 4 ${name} in row row`);
});

test.each(arrays)("%s with something that is no finite number is named", (name) => {
  for (const value of [Number.NaN, Infinity]) {
    expect(() => makeTrainBatch([{ ...row, [name]: zeros.with(2, value) }])).toThrow(`got ${name}[2] = ${value}`);
  }
});

test("a mask of another length is named", () => {
  expect(() => makeTrainBatch([{ ...row, mask_T: new Uint8Array(2) }])).toThrow("got 2 mask_T in row row, expected 3");
});

test.each(["reward", "weight"])("a %s that is no finite number is named", (name) => {
  expect(() => makeTrainBatch([{ ...row, [name]: Number.NaN }])).toThrow(`got ${name} = NaN in row row`);
});

test.each([
  { start: 1, end: 4 },
  { start: -1, end: 2 },
  { start: 2, end: 1 },
])("a turn from $start to $end is named", (span) => {
  const got = `got turn of tokens ${span.start} to ${span.end} in row row`;
  expect(() => makeTrainBatch([{ ...row, turns: [span] }])).toThrow(got);
});
