import { describe, expect, test } from "vitest";
import { z } from "zod";
import { type Tool, tool } from "../../tool/index.ts";
import { checkEnv } from "../check-env.ts";
import { searchQa } from "../environments/search-qa.ts";
import { call, make, play, type State } from "../fixtures/scripted-episode.ts";
import { recoveries, withFailingTools } from "./with-failing-tools.ts";

const pay = tool({
  input: z.object({ order: z.string() }),
  run({ order }, { state }: { state: State }) {
    state.log.push(order);
    return `paid ${order}`;
  },
});
const tools: Record<string, Tool<State>> = { pay };
const desk = make({ tools, score: ({ state }) => ({ paid: state.log.length }) });
const again = (order: string) => call("pay", { order });

describe("tools that fail now and then", () => {
  test("do nothing when they fail, and say so to the policy", async () => {
    const { turns, scores, stop } = await play(withFailingTools(desk, { rate: 1 }), [again("a"), again("a")]);
    const calls = turns.flatMap((turn) => turn.calls);
    expect(calls.map(({ outcome }) => outcome)).toEqual(["error", "error"]);
    expect(calls[0].observation).toContain("Service unavailable. Try again.");
    expect(scores.agent.parts.paid).toBe(0);
    expect(stop).not.toBe("tool-crash");
    expect(recoveries(turns)).toEqual({ failures: 2, recovered: 0 });
  });

  test("never fail at a rate of 0", async () => {
    const { turns, scores } = await play(withFailingTools(desk, { rate: 0, recoveryReward: 1 }), [again("a")]);
    expect(turns[0].calls[0].outcome).toBe("ok");
    expect(scores.agent.parts).toMatchObject({ paid: 1, recovery: 0 });
  });

  test("fail at their rate, the same calls in the same episode, and a retry is paid", async () => {
    const env = withFailingTools(desk, { rate: 0.5, recoveryReward: 0.5 });
    const run = () =>
      play(
        env,
        Array.from({ length: 6 }, () => again("a")),
      );
    const [one, other] = [await run(), await run()];
    const outcomes = one.turns.map(({ calls }) => calls[0]?.outcome);
    expect(other.turns.map(({ calls }) => calls[0]?.outcome)).toEqual(outcomes);
    const { failures, recovered } = recoveries(one.turns);
    expect(failures).toBeGreaterThan(0);
    expect(one.scores.agent.parts.recovery).toBeCloseTo((0.5 * recovered) / failures, 12);
  });
});

test("a failure is made good by a later call of the same tool alone", () => {
  const made = (name: string, outcome: "ok" | "error", observation = "") => ({
    name,
    outcome,
    observation,
    arguments: {},
  });
  const down = "Service unavailable. Try again.";
  const turns = [
    { calls: [made("pay", "error", down), made("look", "ok")] },
    { calls: [made("look", "error", "no such order"), made("look", "error", down)] },
    { calls: [made("pay", "ok")] },
  ];
  expect(recoveries(turns)).toEqual({ failures: 2, recovered: 1 });
  expect(recoveries(turns, "no such order")).toEqual({ failures: 1, recovered: 0 });
});

test("a shipped environment keeps its promises with them", async () => {
  const failing = withFailingTools(searchQa(), { rate: 0.3, recoveryReward: 0.1 });
  // its expert tries again, which uses up turns
  const env = { ...failing, limits: { ...failing.limits, turns: 40 } };
  const { findings } = await checkEnv(env as never, { tasks: 3, timeoutMs: 10_000 });
  expect(findings.filter(({ isWarning }) => !isWarning).map(({ code }) => code)).toEqual([]);
});

test.each([{ rate: 1.5 }, { rate: Number.NaN }, { message: "" }, { recoveryReward: Number.NaN }, { rte: 1 }])(
  "refuses %j",
  (options) => {
    expect(() => withFailingTools(desk, options as object)).toThrow();
  },
);

test("refuses an environment without tools", () => {
  expect(() => withFailingTools(make({}))).toThrow(/no tools/);
});
