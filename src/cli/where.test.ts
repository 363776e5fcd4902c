import { expect, test } from "vitest";
import { onlySteps, readWhere } from "./where.ts";

test("conditions become a filter", () => {
  const where = [
    "success=true",
    "guided=false",
    "stop=max-turns",
    "reward=0.5..",
    "step=3..9",
    "tool=search",
    "task=a=b",
    "text=two words",
  ];
  expect(readWhere(where)).toEqual({
    success: true,
    stop: "max-turns",
    reward: { min: 0.5 },
    steps: { from: 3, to: 9 },
    tool: "search",
    taskId: "a=b",
    text: "two words",
    annotations: { hint: false },
  });
  expect(readWhere(["step=4"])).toEqual({ steps: { from: 4, to: 4 } });
  expect(readWhere(["reward=-1e-3..-0.0001"])).toEqual({ reward: { min: -1e-3, max: -1e-4 } });
  expect(readWhere(["reward=..0.2"])).toEqual({ reward: { max: 0.2 } });
  expect(readWhere([])).toEqual({});
});

test.each([
  ["sucess=true", /Did you mean "success"\?/],
  ["success=yes", /expected one of true, false/],
  ["stop=max-turn", /Did you mean "max-turns"\?/],
  ["step=1..2..3", /a range such as/],
  ["step=..", /a range such as/],
  ["reward=high", /a range such as/],
  ["success", /then = and a value/],
  ["toString=1", /bad-where/],
])("--where %s is refused", (condition, message) => {
  expect(() => readWhere([condition])).toThrow(message);
});

test("metrics have steps and nothing else", () => {
  expect(onlySteps({ steps: { from: 2 } }, "csv-metrics")).toEqual({ from: 2 });
  expect(() => onlySteps({ success: true }, "csv-metrics")).toThrow(/--where success with --format csv-metrics/);
});
