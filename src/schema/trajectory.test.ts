import { expect, test } from "vitest";
import { makeTrajectory, type Trajectory } from "./trajectory.ts";

/** The worked example of `trajectory.ts`. */
const example: Trajectory = {
  id: "t",
  rollout: "r",
  taskId: "task",
  role: "agent",
  weights: "policy",
  weight: 1,
  tokens_T: Int32Array.of(1, 2, 3, 7, 9, 4, 5, 8, 9),
  mask_T: Uint8Array.of(0, 0, 0, 1, 1, 0, 0, 1, 1),
  logprobs_T: Float32Array.of(0, 0, 0, -0.1, -0.7, 0, 0, -0.3, -0.2),
  versions_T: Int32Array.of(-1, -1, -1, 4, 4, -1, -1, 4, 5),
  turns: [turn(3, 5), turn(7, 9)],
  score: { total: 1, parts: { outcome: 1 }, success: true },
  stop: "completed",
  temperature: 1,
};

function turn(start: number, end: number): Trajectory["turns"][number] {
  return { span: { start, end }, text: "", calls: [], reward: 0, observation: "" };
}

test("the worked example is a trajectory", () => {
  expect(makeTrajectory(example)).toBe(example);
});

test("tokens that were forced may be part of a turn", () => {
  expect(() => makeTrajectory({ ...example, turns: [turn(2, 5), turn(5, 9)] })).not.toThrow();
});

test("a certain token may be a hair above 0", () => {
  const logprobs_T = example.logprobs_T.with(4, 1e-6);
  expect(() => makeTrajectory({ ...example, logprobs_T })).not.toThrow();
});

const { mask_T, logprobs_T, versions_T } = example;
const broken: [string, Partial<Trajectory>, string][] = [
  ["a short mask", { mask_T: mask_T.slice(1) }, "got mask 8, logprobs 9, versions 9, expected 9 each"],
  ["short log-probabilities", { logprobs_T: logprobs_T.slice(2) }, "logprobs 7"],
  ["too many versions", { versions_T: new Int32Array(10) }, "versions 10"],
  ["a mask that is neither", { mask_T: mask_T.with(2, 2) }, "mask 2 at token 2 of t"],
  [
    "a log-probability outside the mask",
    { logprobs_T: logprobs_T.with(5, -0.5) },
    "log-probability -0.5 outside the mask at token 5",
  ],
  ["a version outside the mask", { versions_T: versions_T.with(0, 0) }, "version 0 outside the mask at token 0"],
  ["a positive log-probability", { logprobs_T: logprobs_T.with(3, 0.25) }, "log-probability 0.25 at token 3"],
  ["an infinite log-probability", { logprobs_T: logprobs_T.with(3, -Infinity) }, "log-probability -Infinity"],
  ["a log-probability that is no number", { logprobs_T: logprobs_T.with(3, Number.NaN) }, "log-probability NaN"],
  ["a sampled token of no version", { versions_T: versions_T.with(8, -1) }, "version -1 at token 8"],
  ["a sampled token in no turn", { turns: [turn(3, 5), turn(7, 8)] }, "4 sampled tokens, 3 of them in turns"],
  ["turns out of order", { turns: [turn(7, 9), turn(3, 5)] }, "turn of tokens 3 to 5"],
  ["turns that overlap", { turns: [turn(3, 8), turn(7, 9)] }, "turn of tokens 7 to 9"],
  ["a turn beyond the tokens", { turns: [turn(3, 5), turn(7, 10)] }, "turn of tokens 7 to 10"],
  ["a turn that ends before it starts", { turns: [turn(3, 5), turn(9, 7)] }, "turn of tokens 9 to 7"],
  ["no weight", { weight: 0 }, "weight 0"],
  ["a weight above one", { weight: 1.5 }, "weight 1.5"],
  ["a weight that is no number", { weight: Number.NaN }, "weight NaN"],
];

test.each(broken)("%s is named", (_name, fields, message) => {
  expect(() => makeTrajectory({ ...example, ...fields })).toThrow(message);
});
