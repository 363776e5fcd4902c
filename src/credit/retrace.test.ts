import { expect, test } from "vitest";
import { createRng } from "../random.ts";
import { near } from "./contract/make-row.ts";
import { sampleRows } from "./contract/sample-rows.ts";
import { denseGae } from "./dense-gae.ts";
import { retrace, retraceTargets } from "./retrace.ts";
import { vTrace } from "./v-trace.ts";

test("golden: Retrace with action values of its own", () => {
  const targets_T = retraceTargets({
    rewards_T: [0, 0, 1],
    stateValues_T: [0.2, 0.3, 0.4],
    actionValues_T: [0.1, 0.5, 0.6],
    ratios_T: [0.5, 2, 0.5],
    gamma: 0.9,
    lambda: 0.8,
  });
  expect([...targets_T]).toEqual(near([0.27288, 0.504, 1]));
});

test("on-policy, Retrace is GAE", () => {
  for (let seed = 0; seed < 20; seed++) {
    const rng = createRng(seed);
    const draw = () => Float64Array.from({ length: 12 }, () => rng.normal());
    const values_T = draw();
    const input = { rewards_T: draw(), ratios_T: values_T.map(() => 1), gamma: rng.next(), lambda: rng.next() };
    const targets_T = retraceTargets({ ...input, stateValues_T: values_T, actionValues_T: values_T });
    const advantages_T = denseGae({ ...input, values_T });
    expect([...targets_T]).toEqual(near(advantages_T.map((value, t) => value + values_T[t])));
  }
});

test("with lambda 1, Retrace's returns are V-trace's, and its advantages lack only the ratio", () => {
  const rows = sampleRows(16);
  const [ours, theirs] = [retrace({ gamma: 0.9 }).assign(rows), vTrace({ gamma: 0.9 }).assign(rows)];
  for (const [b, { ratios_T }] of rows.entries()) {
    expect([...ours.returns_B_T![b]]).toEqual(near(theirs.returns_B_T![b]));
    const weighted_T = ours.advantages_B_T[b].map((value, t) => value * Math.min(1, ratios_T![t]));
    expect([...weighted_T]).toEqual(near(theirs.advantages_B_T[b]));
  }
});
