import { expect, test } from "vitest";
import { type Preference, withPreferences } from "../env/agents/with-preferences.ts";
import { defineEnv } from "../env/define-env.ts";
import { evaluate } from "../eval/evaluate.ts";
import { hypervolume, paretoFront } from "../eval/pareto.ts";
import { generated } from "../task/generated.ts";
import { tinyPolicy } from "./fixtures/tiny-policy.ts";
import { grpo } from "./presets/grpo.ts";
import { train } from "./train-sync.ts";
import { imitate } from "./warm-start.ts";

/** c is good and dear, a is bad and cheap, b is in between, and worse than either under a preference for one of them. */
const qualities: Readonly<Record<string, readonly [number, number]>> = { a: [0.1, 1], b: [0.3, 0.3], c: [1, 0.1] };
const shop = defineEnv({
  name: "shop",
  tasks: generated(() => ({})),
  start: () => ({ state: {}, say: "" }),
  score: ({ answer }) => ({ outcome: qualities[answer]?.[0] ?? 0 }),
  expert: () => "a",
  actions: () => ["a", "b", "c"],
  limits: { turns: 1, turnTokens: 3 },
});

const goodness = ({ answer }: { answer: string }) => qualities[answer]?.[0] ?? 0;
const thrift = ({ answer }: { answer: string }) => qualities[answer]?.[1] ?? 0;
const preferences: Preference[] = [
  { goodness: 1, thrift: 0 },
  { goodness: 0.5, thrift: 0.5 },
  { goodness: 0, thrift: 1 },
];
/** One letter for each preference: so small a policy reads letters before numbers. */
const describe = ({ goodness: wanted }: Preference) =>
  (wanted === 1 ? "G" : wanted === 0 ? "T" : "M") as "G" | "M" | "T";
const options = { objectives: { goodness, thrift }, preferences };

test("one policy that is told a preference moves along the front", async () => {
  const told = withPreferences(shop, { ...options, describe });
  // demonstrations that are right now and then: so small a policy has to be shown that there is something to read
  const letter = { G: "c", M: "c", T: "a" };
  const env: typeof told = { ...told, expert: ({ task }) => letter[describe(task.preference)] };
  const { policy } = await train({
    env,
    policy: tinyPolicy(),
    warmStart: imitate({ demonstrations: 300, noise: 0.7, steps: 60, batchSize: 16, learningRate: 1e-2 }),
    algorithm: grpo({ learningRate: 3e-3, entropy: 0.02, groupSize: 16 }),
    steps: 40,
    tasksPerStep: 9,
    eval: { tasks: 0 },
  });
  const points: number[][] = [];
  for (const preference of preferences) {
    const one = withPreferences(shop, { ...options, describe, preferences: [preference] });
    const { rollouts } = await evaluate(one, policy, { tasks: 40 });
    const answers = rollouts.map(({ trajectories }) => trajectories[0].turns[0].text);
    const meanOf = (value: typeof goodness) =>
      answers.reduce((sum, answer) => sum + value({ answer }), 0) / answers.length;
    points.push([meanOf(goodness), meanOf(thrift)]);
  }
  await policy.engine.close();
  expect(points[0][0]).toBeGreaterThan(points[2][0] + 0.5);
  expect(points[2][1]).toBeGreaterThan(points[0][1] + 0.5);
  expect(paretoFront(points, (point) => point).length).toBeGreaterThanOrEqual(2);
  // a policy that knew one answer alone would have 0.1
  expect(hypervolume(points, [0, 0])).toBeGreaterThan(0.15);
});

test("the preference is told, and rewarded as a sum or by the worst of the distances", async () => {
  const play = async (scalarise: "sum" | "chebyshev", index: number) => {
    const env = withPreferences(shop, { ...options, scalarise });
    const task = await env.tasks.at("train", index);
    const { messages } = await env.opening!(task);
    const score = await env.score!({
      ...{ task: task.data, state: {}, role: "agent", answer: "b", turns: [], sampledTokens: 1, stop: "completed" },
      signal: new AbortController().signal,
    });
    return [messages[0].content, score] as const;
  };
  expect(await play("sum", 1)).toEqual(["0.5 0.5\n", expect.objectContaining({ total: 0.3, success: false })]);
  expect(await play("sum", 3)).toEqual(["1 0\n", expect.objectContaining({ total: 0.3 })]);
  const [, score] = await play("chebyshev", 2);
  expect(score).toMatchObject({ total: expect.closeTo(-0.7), parts: { thrift: expect.closeTo(-0.7) } });
});

test.each([
  [{ ...options, preferences: [] }, "no preferences"],
  [{ ...options, preferences: [{ speed: 1 }] }, 'a preference for "speed"'],
  [{ ...options, preferences: [{ goodness: 0 }] }, "weights [0]"],
  [{ ...options, preferences: [{ goodness: -1 }] }, "weights [-1]"],
  [{ ...options, objectives: { goodness } }, "1 objectives"],
  [{ ...options, scalarize: "sum" }, 'did you mean "scalarise"?'],
])("options are refused: %j", (wrong, says) => {
  expect(() => withPreferences(shop, wrong as typeof options)).toThrow(says);
});
