import { expect, test } from "vitest";
import { createRng } from "../random.ts";
import { makeRow, near } from "./contract/make-row.ts";
import { returnsToGo } from "./returns-to-go.ts";
import { vTrace, vTraceTargets } from "./v-trace.ts";

const golden = { rewards_T: [0, 0, 1], values_T: [0.2, 0.3, 0.4], ratios_T: [0.5, 2, 1.5] };

function onPolicyInput(seed: number) {
  const rng = createRng(seed);
  const draw = () => Float64Array.from({ length: 12 }, () => rng.normal());
  return { rewards_T: draw(), values_T: draw(), ratios_T: new Float64Array(12).fill(1), gamma: rng.next() };
}

test("golden: V-trace", () => {
  const { targets_T, advantages_T } = vTraceTargets({ ...golden, gamma: 0.9 });
  expect([...targets_T]).toEqual(near([0.505, 0.9, 1]));
  expect([...advantages_T]).toEqual(near([0.305, 0.6, 0.6]));
});

test("golden: V-trace on a row skips the observation", () => {
  const row = makeRow({
    mask: [1, 0, 1, 1],
    reward: 1,
    values_T: Float32Array.of(0.2, 5, 0.3, 0.4),
    ratios_T: Float32Array.of(0.5, 5, 2, 1.5),
  });
  const { advantages_B_T, returns_B_T } = vTrace({ gamma: 0.9 }).assign([row]);
  expect([...advantages_B_T[0]]).toEqual(near([0.305, 0, 0.6, 0.6]));
  expect([...returns_B_T![0]]).toEqual(near([0.505, 0, 0.9, 1]));
});

test("golden: other bounds than 1", () => {
  const bounds = { gamma: 0.9, maxRatio: 1.2, maxTrace: 0.8, maxAdvantageRatio: 1.5, lambda: 0.5 };
  const { targets_T, advantages_T } = vTraceTargets({ ...golden, ...bounds });
  expect([...targets_T]).toEqual(near([0.30952, 0.6312, 1.12]));
  expect([...advantages_T]).toEqual(near([0.18404, 1.062, 0.9]));
});

test("on-policy, targets are the returns and advantages the returns less the value", () => {
  for (let seed = 0; seed < 20; seed++) {
    const input = onPolicyInput(seed);
    const { targets_T, advantages_T } = vTraceTargets(input);
    const returns_T = returnsToGo(input.rewards_T, input.gamma);
    expect([...targets_T]).toEqual(near(returns_T));
    expect([...advantages_T]).toEqual(near(returns_T.map((value, t) => value - input.values_T[t])));
  }
});
