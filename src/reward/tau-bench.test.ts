import { expect, test } from "vitest";
import { tauBench } from "./tau-bench.ts";
import { fakeCall, fakeEpisode } from "./testing/fake-episode.ts";

const gold = { orders: { "7": { status: "cancelled" } } };
const reward = tauBench<{ outputs: string[] }, { database: typeof gold } | undefined>({
  database: ({ state }) => state!.database,
  goldDatabase: () => gold,
  requiredOutputs: ({ outputs }) => outputs,
});

test("the database and what the user was told", async () => {
  const turns = [
    { text: "cancel(7) 1,200 secret", calls: [fakeCall("cancel", { order: 7 })] },
    "You get $1,200 back.",
    "Goodbye",
  ];
  const totalOf = async (database: typeof gold, ...outputs: string[]) =>
    (await reward(fakeEpisode({ outputs }, turns, { state: { database } }))).total;
  expect(await totalOf(gold)).toBe(1);
  expect(await totalOf(gold, "1200", "goodbye")).toBe(1);
  expect(await totalOf({ orders: { "7": { status: "pending" } } }, "1200")).toBe(0);
  // said to a tool, not to the user
  expect(await totalOf(gold, "secret")).toBe(0);
});
