import { expect, test } from "vitest";
import * as credit from "./index.ts";

const { groupRelative } = credit;
const takesOptions = {
  ...{ biLevelGae: credit.biLevelGae, gae: credit.gae, gigpoCredit: credit.gigpoCredit, groupRelative },
  ...{ reinforcePlusPlusCredit: credit.reinforcePlusPlusCredit, retrace: credit.retrace, stepGae: credit.stepGae },
  ...{ vTrace: credit.vTrace, skipUniform: credit.skipUniform, keepAllGroups: credit.keepAllGroups },
  ...{ topDeviation: credit.topDeviation, valueReplacement: credit.valueReplacement },
  dynamicSampling: (options: object) => credit.dynamicSampling({ wanted: 1, ...options }),
  perDomain: (options: object) => credit.perDomain(groupRelative(), options),
};

test.each(Object.entries(takesOptions))("%s refuses an option it does not know", (name, make) => {
  expect(() => make({ gama: 1 } as never)).toThrow(`${name}: unknown option "gama"`);
  expect(() => make({})).not.toThrow();
});

test("what says how to divide by the deviation is refused where nothing is divided by it", () => {
  // @ts-expect-error
  expect(() => groupRelative({ scale: "none", stdFloor: 0.1 })).toThrow(/"stdFloor", which has no effect/);
  // @ts-expect-error
  expect(() => credit.gigpoCredit({ scale: "none", epsilon: 1 })).toThrow(/"epsilon", which has no effect/);
});
