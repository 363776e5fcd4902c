import type {
  Evaluation,
  GroupAnswer,
  PlayAnswer,
  RunAnswer,
  RunSummary,
  Series,
  SeriesAnswer,
  ShownSummary,
  ShownTurn,
  TrajectoryAnswer,
} from "../../../src/server/dashboard/answers.ts";
import type { FakeRequest } from "./fake-server.ts";

export function runSummary(fields: Partial<RunSummary> = {}): RunSummary {
  return {
    id: "first",
    status: "finished",
    changed: 0,
    env: "shelf",
    algorithm: "grpo",
    steps: 40,
    plannedSteps: 100,
    reward: 0.5,
    success: 0.25,
    curve: [0, 0.25, 0.5],
    ...fields,
  };
}

export function evaluation(step: number, mean: number, fields: Partial<Evaluation> = {}): Evaluation {
  const success = { mean, low: mean - 0.05, high: mean + 0.05 };
  return { step, success, tasks: 200, attempts: 1, split: "test", ...fields };
}

export function runAnswer(fields: Partial<RunAnswer> = {}): RunAnswer {
  return {
    summary: runSummary(),
    metricNames: ["rollout/reward", "rollout/success", "own/metric"],
    config: { algorithm: { name: "grpo", groupSize: 8 }, seed: 1 },
    checkpoints: [],
    trajectories: 320,
    heldOut: 0,
    ...fields,
  };
}

/** Every metric of every run that is asked for: 0, 1, 2, 3 on the first four steps. */
export function anySeries({ query }: FakeRequest): SeriesAnswer {
  const values = [0, 1, 2, 3];
  const series = query
    .getAll("run")
    .flatMap((run) =>
      query
        .getAll("name")
        .map((name): Series => ({ run, name, steps: values, values, min: values, max: values, counts: [1, 1, 1, 1] })),
    );
  return { series };
}

export function summary(fields: Partial<ShownSummary> = {}): ShownSummary {
  return {
    key: 7,
    group: 3,
    step: 12,
    split: "train",
    id: "a",
    rollout: "a",
    taskId: "train/0",
    role: "agent",
    stop: "completed",
    weight: 1,
    reward: 1,
    success: true,
    tokens: 6,
    turns: 1,
    tools: ["search"],
    ...fields,
  };
}

const text = (words: string) => ({ text: words, length: words.length });

export function shownTurn(fields: Partial<ShownTurn> = {}): ShownTurn {
  return { start: 2, end: 5, text: text("hi!"), reward: 0, observation: text(""), calls: [], ...fields };
}

/** Two tokens of context, three sampled, one of context. */
export function trajectoryAnswer(fields: Partial<TrajectoryAnswer> = {}): TrajectoryAnswer {
  return {
    summary: summary(),
    task: { id: "train/0", seed: 1, data: text('{"goal":"tea"}') },
    score: { total: 1, parts: { outcome: 1 }, success: true },
    weights: "policy",
    temperature: 0.7,
    turns: [shownTurn()],
    tokens: {
      from: 0,
      total: 6,
      ids: [10, 11, 12, 13, 14, 15],
      texts: ["Q", ":", "h", "i", "!", "\n"],
      mask: [0, 0, 1, 1, 1, 0],
      logprobs: [0, 0, -0.05, -5, null, 0],
      versions: [-1, -1, 3, 3, 4, -1],
      advantages: [0, 0, 1, -0.5, 0, 0],
    },
    ...fields,
  };
}

export function groupAnswer(fields: Partial<GroupAnswer> = {}): GroupAnswer {
  return {
    step: 12,
    split: "train",
    meanReward: 0.5,
    members: [summary({ key: 6, reward: 0, success: false }), summary(), summary({ key: 8, reward: null })],
    ...fields,
  };
}

export function playAnswer(fields: Partial<PlayAnswer> = {}): PlayAnswer {
  return {
    session: "s1",
    env: "bandit",
    taskId: "train/0",
    tools: [],
    role: "agent",
    messages: [{ role: "user", content: "Choose an arm." }],
    prompt: "<user>Choose an arm.",
    promptTokens: 1234,
    possible: [],
    hasExpert: true,
    reward: 0,
    ...fields,
  };
}
