import { expect, test } from "vitest";
import { databaseHash, tauBenchScore } from "./tau-bench.ts";

test("the hash ignores the order of keys only", () => {
  expect(databaseHash({ a: 1, b: [1, 2] })).toBe(databaseHash({ b: [1, 2], a: 1 }));
  expect(databaseHash({ a: [1, 2] })).not.toBe(databaseHash({ a: [2, 1] }));
  // sha256 of "{}"
  expect(databaseHash({})).toBe("44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
});

test("both the database and the outputs must be right", () => {
  const episode = {
    database: { orders: { o1: { status: "cancelled" } } },
    goldDatabase: { orders: { o1: { status: "cancelled" } } },
    requiredOutputs: ["1,250.50", "GIFT card"],
    responses: ["You get $1250.50 back", "onto your gift card."],
  };
  expect(tauBenchScore(episode)).toBe(1);
  expect(tauBenchScore({ ...episode, responses: episode.responses.slice(1) })).toBe(0);
  expect(tauBenchScore({ ...episode, database: { orders: {} } })).toBe(0);
  expect(tauBenchScore({ ...episode, requiredOutputs: [], responses: [] })).toBe(1);
});
