import { expect, test } from "vitest";
import { consoleMonitor } from "./console-monitor.ts";
import { sparkline } from "./sparkline.ts";

function screen(isTTY: boolean) {
  let text = "";
  return { isTTY, columns: 100, write: (more: string) => (text += more), text: () => text };
}

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
