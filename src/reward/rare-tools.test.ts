import { expect, test } from "vitest";
import type { CallRecord } from "../schema/turn.ts";
import { rareTools } from "./rare-tools.ts";

const call = (name: string, outcome: CallRecord["outcome"] = "ok") =>
  ({ name, arguments: {}, outcome, observation: "" }) as CallRecord;
const attempt = (...calls: CallRecord[]) => ({
  turns: [{ text: "", calls, reward: 0, observation: "", span: { start: 0, end: 0 } }],
  stop: "completed" as const,
  score: { total: 0, parts: {}, success: false },
});

const bonuses = async (...attempts: ReturnType<typeof attempt>[]) => {
  const group = { id: "g", task: null, attempts, signal: new AbortController().signal };
  return (await rareTools({ bonus: 0.3 })(group)).map(({ parts }) => parts.rareTools);
};

test("who calls what the others do not gets the bonus, who calls what all call gets nothing", async () => {
  expect(await bonuses(attempt(call("a")), attempt(call("a")), attempt(call("b")))).toEqual([
    expect.closeTo(0.15),
    expect.closeTo(0.15),
    expect.closeTo(0.3),
  ]);
  expect(await bonuses(attempt(call("a")), attempt(call("a"), call("a")))).toEqual([0, 0]);
});

test("calling many tools is no better than calling rare ones, and inventing some is worth nothing", async () => {
  const [both, common] = await bonuses(attempt(call("a"), call("b")), attempt(call("a")));
  expect([both, common]).toEqual([expect.closeTo(0.15), 0]);
  expect(await bonuses(attempt(call("x", "unknown-tool")), attempt(call("a")), attempt())).toEqual([
    0,
    expect.closeTo(0.3),
    0,
  ]);
});

test("refuses what is no bonus", () => {
  expect(() => rareTools({ bonus: Number.NaN })).toThrow(/bonus/);
  expect(() => rareTools({ bonsu: 1 } as never)).toThrow(/bonus/);
});
