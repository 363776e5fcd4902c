import { expect, test } from "vitest";
import { defined } from "../defined.ts";
import { fakeEngine } from "../engine/fake-engine.ts";
import { scaleLoss, sumLosses } from "../loss/combine.ts";
import { makeRow } from "../loss/contract/make-row.ts";
import { imitation } from "../loss/imitation.ts";
import { searchDistillation } from "../loss/search-distillation.ts";
import { totalsOf } from "../loss/totals.ts";
import { byteTokenizer } from "../policy/byte-tokenizer.ts";
import { compactRenderer } from "../policy/compact-renderer.ts";
import { makeTrajectory, type Trajectory } from "../schema/trajectory.ts";
import { trainOffline } from "./offline.ts";
import { distilSearch } from "./presets/distil-search.ts";
import { searchTargets } from "./search-targets.ts";

const renderer = compactRenderer({ tokenizer: byteTokenizer() });

/** [9] was read; [1, 2, 0] was said; the search also tried [1, 3, 0] and [4, 0]. */
function searched(actions?: readonly { tokens: number[]; visits: number; value: number }[], rollout = "r"): Trajectory {
  const annotations = actions === undefined ? undefined : { search: { kind: "mcts", actions } };
  const turn = {
    text: "",
    calls: [],
    reward: 0,
    observation: "",
    span: { start: 1, end: 4 },
    ...defined({ annotations }),
  };
  return makeTrajectory({
    ...{ id: `${rollout}/agent`, rollout, taskId: "t", role: "agent", weights: "policy", weight: 1, temperature: 1 },
    ...{ stop: "completed", score: { total: 1, parts: { outcome: 1 }, success: true }, turns: [turn] },
    tokens_T: Int32Array.of(9, 1, 2, 0),
    mask_T: Uint8Array.of(0, 1, 1, 1),
    logprobs_T: Float32Array.of(0, -1, -1, -1),
    versions_T: Int32Array.of(-1, 0, 0, 0),
  });
}

const tried = [
  { tokens: [1, 2, 0], visits: 6, value: 1 },
  { tokens: [1, 3, 0], visits: 2, value: 0 },
  { tokens: [4, 0], visits: 2, value: 0 },
  { tokens: [5, 0], visits: 0, value: 0 },
];

test("visits become a distribution over the next token wherever actions part", () => {
  const { count, tokens, weights } = searchTargets(searched(tried))!;
  expect(count).toBe(2);
  expect(Array.from(tokens)).toEqual([0, 0, 1, 4, 2, 3, 0, 0]);
  expect(Array.from(weights, (weight) => Number(weight.toFixed(3)))).toEqual([0, 0, 0.8, 0.2, 0.75, 0.25, 1, 0]);
  const sharp = searchTargets(searched(tried), 0.1)!;
  expect(sharp.weights[2]).toBeGreaterThan(0.99);
  expect(searchTargets(searched())).toBeUndefined();
  expect(() => searchTargets(searched(tried), 0)).toThrow("a temperature of 0");
});

test("the loss is the cross-entropy with those shares, and its derivatives are the shares", () => {
  const targets = { count: 2, tokens: Int32Array.of(0, 0, 1, 4), weights: Float32Array.of(0, 0, 0.75, 0.25) };
  const row = makeRow({
    logprobs_T: Float32Array.of(0, -1),
    mask_T: Uint8Array.of(0, 1),
    ...{ targets, targetLogprobs_T: Float32Array.of(0, 0, -1, -2) },
  });
  const rows = [row, makeRow({ id: "other", logprobs_T: Float32Array.of(0, -1), mask_T: Uint8Array.of(0, 1) })];
  const { loss, derivatives } = searchDistillation().compute(rows, totalsOf(rows));
  expect(loss).toBeCloseTo((0.75 + 0.5) / 2, 6);
  expect(derivatives.targets_B_T).toEqual([Float32Array.of(0, 0, -0.375, -0.125), new Float32Array(0)]);
  const both = sumLosses([imitation(), scaleLoss(searchDistillation(), 2)]);
  expect(both.needs.targets).toBe(true);
  expect(both.compute(rows, totalsOf(rows)).derivatives.targets_B_T![0][2]).toBeCloseTo(-0.75, 6);
  const { targetLogprobs_T: _absent, ...without } = row;
  expect(() => searchDistillation().compute([without], totalsOf([without]))).toThrow("targetLogprobs_T");
});

test("offline, candidates of rows of different widths reach the engine, and what was not searched is left out", async () => {
  const engine = fakeEngine({ vocabularySize: 10, distribution: new Array(10).fill(1) });
  const narrow = searched([tried[0]], "narrow");
  const trajectories = [searched(tried), narrow, searched(undefined, "plain")];
  const result = await trainOffline({
    policy: { engine, renderer },
    trajectories,
    algorithm: distilSearch(),
    steps: 1,
  });
  expect(result.examples).toBe(2);
  expect(result.metrics["imitation/nll"]).toBeCloseTo(Math.log(10), 4);
  const [{ batch, derivatives }] = engine.backwards;
  expect(batch.rows.map(({ candidates }) => candidates?.count)).toEqual([2, 2]);
  const sum = derivatives.candidates_B_T!.flatMap((array) => [...array]).reduce((all, each) => all + each, 0);
  expect(sum).toBeCloseTo(-1, 5);
});

test("a misspelt option and data without a search are refused", async () => {
  expect(() => distilSearch({ visitsTemperature: 1 } as object)).toThrow('did you mean "visitTemperature"?');
  const engine = fakeEngine({ vocabularySize: 10, distribution: new Array(10).fill(1) });
  const config = { policy: { engine, renderer }, trajectories: [searched()], algorithm: distilSearch() };
  await expect(trainOffline(config)).rejects.toThrow("no-examples");
});
