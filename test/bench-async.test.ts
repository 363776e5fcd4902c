import { expect, test } from "vitest";
import { summarise } from "../bench/async/results.ts";

const round = (turns: number, sync: number, async: number, trainerWaits: number) => ({
  turns,
  sync: { stepsPerSecond: sync },
  async: { stepsPerSecond: async, trainerWaits },
  load: 1,
});

test("ratios are medians over rounds, and of waiting the larger number counts", () => {
  const measured = [round(1, 1, 2, 0.02), round(3, 0.5, 2, 0.2), round(1, 1, 3, 0.04), round(3, 0.5, 1, 0.1)];
  expect(summarise(measured)).toEqual({ async_vs_batch_1turn: 2.5, async_vs_batch_3turns: 3, trainer_waits: 0.15 });
});
