import { describe, expect, test } from "vitest";
import { consoleMonitor } from "./console-monitor.ts";
import { monitorContract } from "./monitor.contract.ts";
import { sparkline } from "./sparkline.ts";

function screen(isTTY: boolean, columns = 100) {
  let text = "";
  return { isTTY, columns, write: (more: string) => (text += more), text: () => text };
}

monitorContract("consoleMonitor on a terminal", () => consoleMonitor({ stream: screen(true) }));
monitorContract("consoleMonitor in a narrow terminal", () => consoleMonitor({ stream: screen(true, 3) }));
monitorContract("consoleMonitor in a file", () => consoleMonitor({ stream: screen(false), everySeconds: 0 }));

const metrics = (reward: number) => ({
  "rollout/reward": reward,
  "rollout/success": reward,
  "rollout/sampled-tokens": 500,
});

test("a terminal shows three lines that are drawn over themselves, below those that stay", () => {
  const stream = screen(true);
  let time = 0;
  const monitor = consoleMonitor({ stream, now: () => time });
  monitor.record({ type: "phase-start", phase: "grpo", steps: 4 });
  for (const [step, reward] of [0.1, 0.5, 0.9].entries()) {
    time += 2000;
    monitor.record({ type: "step-end", step, metrics: metrics(reward) });
  }
  monitor.record({ type: "warning", message: "mind the gap" });
  const drawn = stream.text().split("\u001b[3A\u001b[J");
  expect(drawn).toHaveLength(4);
  expect(drawn[3]).toBe(
    [
      "warning: mind the gap",
      "grpo ━━━━━━━━━━━━━━━━━━━━━━━─────── 3/4   6 s, 2 s left   250 tokens/s",
      "reward   0.900 ▁▅█",
      "success  0.900 ▁▅█",
      "",
    ].join("\n"),
  );
});

test("elsewhere there are plain lines every so many seconds, and one for the last step", () => {
  const stream = screen(false);
  let time = 0;
  const monitor = consoleMonitor({ stream, everySeconds: 5, now: () => time });
  monitor.record({ type: "run-start", name: "copy" });
  monitor.record({ type: "phase-start", phase: "grpo", steps: 5 });
  for (let step = 0; step < 5; step++) {
    time += 2000;
    monitor.record({ type: "step-end", step, metrics: metrics(0.5) });
  }
  monitor.record({ type: "eval-end", step: 4, metrics: { "eval/success": 0.75, "eval/reward": 0.8 } });
  monitor.record({ type: "run-end", reason: "finished" });
  expect(stream.text()).toBe(
    [
      "run copy",
      "phase grpo, 5 steps",
      "grpo 1/5  reward 0.500  success 0.500  250 tokens/s  2 s, 8 s left",
      "grpo 4/5  reward 0.500  success 0.500  250 tokens/s  8 s, 2 s left",
      "grpo 5/5  reward 0.500  success 0.500  250 tokens/s  10 s",
      "step 4: held-out success 0.750, reward 0.800",
      "ended: finished",
      "",
    ].join("\n"),
  );
  expect(stream.text()).not.toContain("\u001b");
});

test("a sparkline joins what does not fit, and leaves out what is no number", () => {
  expect(sparkline([0, 1, 2, 3, 4, 5, 6, 7], 8)).toBe("▁▂▃▄▅▆▇█");
  expect(sparkline([0, 0, 7, 7], 2)).toBe("▁█");
  expect(sparkline([1, Number.NaN, 1], 8)).toBe("▁▁");
  expect(sparkline([], 8)).toBe("");
});

describe("on any terminal", () => {
  const grpo = { type: "phase-start", phase: "grpo", steps: 4 } as const;
  /** What is on the screen after one step. */
  const drawn = (columns: number, phase = "grpo") => {
    const stream = screen(true, columns);
    const monitor = consoleMonitor({ stream, now: () => 0 });
    monitor.record({ ...grpo, phase });
    monitor.record({ type: "step-end", step: 0, metrics: metrics(0.5) });
    return stream.text().trimEnd().split("\n").slice(1);
  };

  test.each([1, 5, 10, 20, 39, 60, 200])("no redrawn line is wider than %d columns", (columns) => {
    const lines = drawn(columns);
    expect(lines).toHaveLength(3);
    for (const line of lines) expect(line.length).toBeLessThan(Math.max(2, columns));
  });

  test("a long name is cut, and a width of 0 is taken for unknown", () => {
    expect(drawn(60, "x".repeat(500))[0]).toBe("x".repeat(59));
    expect(drawn(0)).toEqual(drawn(80));
  });

  test("control characters of a name or message are spelled out", () => {
    const stream = screen(false);
    const monitor = consoleMonitor({ stream, everySeconds: 0, now: () => 0 });
    monitor.record({ type: "run-start", name: "a\u001b[2Jb" });
    monitor.record({ type: "phase-start", phase: "p\u202eq", steps: 1 });
    monitor.record({ type: "warning", message: "two\nlines\u009b31m" });
    monitor.record({ type: "step-end", step: 0, metrics: {} });
    expect(stream.text()).toBe(
      "run a\\u001b[2Jb\nphase p\\u202eq, 1 steps\nwarning: two\\u000alines\\u009b31m\np\\u202eq 1/1  0 s\n",
    );
  });

  test("there are no colours, whatever the environment says", () => {
    for (const columns of [20, 100]) expect(drawn(columns).join("")).not.toContain("\u001b[3");
  });

  test("numbers that are not finite are shown, and leave no bar", () => {
    const stream = screen(true);
    const monitor = consoleMonitor({ stream, now: () => 0 });
    monitor.record(grpo);
    for (const [step, reward] of [0, Number.NaN, Number.POSITIVE_INFINITY].entries()) {
      monitor.record({ type: "step-end", step, metrics: { "rollout/reward": reward } });
    }
    expect(stream.text().trimEnd().split("\n").at(-1)).toBe("reward  Infinity ▁");
  });

  test("a stream that is closed throws, so that the run leaves the monitor out", () => {
    const write = () => {
      throw new Error("EPIPE: broken pipe, write");
    };
    const monitor = consoleMonitor({ stream: { write, isTTY: true } });
    expect(() => monitor.record({ type: "run-start", name: "run" })).toThrow("EPIPE");
  });
});

test("a resumed run goes on counting, and its remaining time is that of the steps since", () => {
  const stream = screen(false);
  let time = 0;
  const monitor = consoleMonitor({ stream, everySeconds: 0, now: () => time });
  monitor.record({ type: "run-start", name: "copy", resumedAtStep: 61 });
  monitor.record({ type: "phase-start", phase: "grpo", steps: 64, doneSteps: 61 });
  time += 3000;
  monitor.record({ type: "step-end", step: 62, metrics: {} });
  expect(stream.text().trimEnd().split("\n")).toEqual([
    "run copy, resumed after step 61",
    "phase grpo, 64 steps, 61 done",
    "grpo 62/64  3 s, 6 s left",
  ]);
});

describe("attempts that failed", () => {
  const rollout = (id: string, failure: string) => {
    return {
      id,
      task: { id: "t", seed: 0, data: 0 },
      trajectories: [],
      stop: "env-crash",
      failure,
      timing: { totalMs: 1 },
    } as const;
  };
  const event = (step: number, count: number) => ({
    type: "failure" as const,
    ...{ step, count, attempts: 32, at: "at run (env.ts:3:9)", rollout: `step-${step}/0/0` },
    ...({ during: "training", stop: "env-crash" } as const),
    message: `Error: order ${step} is gone`,
  });

  test("are told with their text as soon as the first one ends, then counted", () => {
    const stream = screen(false);
    const monitor = consoleMonitor({ stream, everySeconds: 0, now: () => 0 });
    monitor.record({ type: "phase-start", phase: "grpo", steps: 2 });
    for (let i = 0; i < 3; i++)
      monitor.recordRollout!(rollout(`step-0/0/${i}`, `Error: order ${i} is gone\n    at run (env.ts:3:9)\n    at x`));
    monitor.record(event(0, 3));
    monitor.record({ type: "step-end", step: 0, metrics: {} });
    monitor.record(event(1, 5));
    monitor.record({ type: "step-end", step: 1, metrics: {} });
    monitor.record({ type: "run-end", reason: "finished" });
    expect(stream.text().split("\n")).toEqual([
      "phase grpo, 2 steps",
      "failed: env-crash in step-0/0/0: Error: order 0 is gone",
      "  at run (env.ts:3:9)",
      "grpo 1/2  failed 3 of 32  0 s, 0 s left",
      "grpo 2/2  failed 5 of 32  0 s",
      "failed in training: 8 × env-crash: Error: order 1 is gone (at run (env.ts:3:9))",
      "ended: finished",
      "",
    ]);
  });

  test("of evaluations and demonstrations are told when they are over; what was stopped did not fail", () => {
    const stream = screen(false);
    const monitor = consoleMonitor({ stream });
    monitor.recordRollout!({ ...rollout("a", "x"), stop: "cancelled" });
    monitor.record({ ...event(0, 2), during: "evaluation", message: "\u001b[2Jhostile\nlines" });
    expect(stream.text()).toBe("failed: env-crash in step-0/0/0: \\u001b[2Jhostile lines\n  at run (env.ts:3:9)\n");
  });
});
