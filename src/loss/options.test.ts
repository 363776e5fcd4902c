import { expect, test } from "vitest";
import * as loss from "./index.ts";

const takesOptions = {
  ...{ cispoLoss: loss.cispoLoss, dpoLoss: loss.dpoLoss, imitation: loss.imitation, ktoLoss: loss.ktoLoss },
  ...{ positiveNll: loss.positiveNll, ppoClip: loss.ppoClip, reinforce: loss.reinforce, valueLoss: loss.valueLoss },
  ...{ webRlSmooth: loss.webRlSmooth, truncatedRatio: loss.truncatedRatio, maskedRatio: loss.maskedRatio },
  klPenalty: (options: object) => loss.klPenalty({ coefficient: 1, ...options }),
  entropyBonus: (options: object) => loss.entropyBonus({ coefficient: 1, ...options }),
  adaptiveKl: (options: object) => loss.adaptiveKl({ initial: 1, target: 1, horizon: 1, ...options }),
  webRlSquared: (options: object) => loss.webRlSquared({ beta: 1, ...options }),
  sequenceRatioMask: (options: object) => loss.sequenceRatioMask({ low: 0.5, high: 2, ...options }),
  sequenceDivergenceMask: (options: object) => loss.sequenceDivergenceMask({ max: 1, ...options }),
};

test.each(Object.entries(takesOptions))("%s refuses an option it does not know", (name, make) => {
  expect(() => make({ betta: 1 } as never)).toThrow(`${name}: unknown option "betta"`);
  expect(() => make({})).not.toThrow();
});

test("options that have no effect beside the others are refused", () => {
  // @ts-expect-error IPO has no label smoothing
  expect(() => loss.dpoLoss({ variant: "ipo", labelSmoothing: 0.1 })).toThrow(/"labelSmoothing", which has no effect/);
  expect(() => loss.webRlSmooth({ bad: -1 })).toThrow(/"bad", which has no effect.*learnFromBad: true/);
  expect(() => loss.ppoClip({ dualClipBound: 3 })).toThrow(/"dualClipBound", which has no effect without dualClip/);
});

test("a KL coefficient that could not act is refused", () => {
  expect(() => loss.fixedKl(-1)).toThrow(/0 or more/);
  expect(() => loss.adaptiveKl({ initial: 0, target: 1, horizon: 1 })).toThrow(/begins at 0 stays there/);
});
