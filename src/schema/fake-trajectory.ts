import { defined } from "../defined.ts";
import type { Rng } from "../random.ts";
import type { TurnAnnotations } from "./annotations.ts";
import { type InfrastructureStop, infrastructureStops, policyStops, type StopReason } from "./stop-reason.ts";
import type { Task } from "./task.ts";
import { makeTrajectory, type Trajectory } from "./trajectory.ts";
import type { CallRecord, Turn } from "./turn.ts";

export interface FakeTrajectoryOptions {
  /** Turns at most; there may be none. */
  turns: number;
  /** Tokens at most of each thing that is said. */
  tokensPerTurn: number;
  vocabularySize: number;
}

const defaults: FakeTrajectoryOptions = { turns: 4, tokensPerTurn: 12, vocabularySize: 1000 };

/** A valid trajectory of anything at all: for tests of what stores, sends or shows them. */
export function fakeTrajectory(
  rng: Rng,
  fields: Partial<Trajectory> = {},
  options: Partial<FakeTrajectoryOptions> = {},
): Trajectory {
  const { turns: maxTurns, tokensPerTurn, vocabularySize } = { ...defaults, ...options };
  const columns = { tokens: [] as number[], mask: [] as number[], logprobs: [] as number[], versions: [] as number[] };
  const append = (isSampled: boolean, version: number) => {
    columns.tokens.push(rng.integer(vocabularySize));
    columns.mask.push(isSampled ? 1 : 0);
    columns.logprobs.push(isSampled ? Math.log(1 - rng.next() ** 2) : 0);
    columns.versions.push(isSampled ? version : -1);
  };
  const turns: Turn[] = [];
  for (let turn = rng.integer(maxTurns + 1); turn > 0; turn--) {
    for (let left = rng.integer(tokensPerTurn + 1); left > 0; left--) append(false, -1);
    const start = columns.tokens.length;
    const version = rng.integer(5);
    for (let left = 1 + rng.integer(tokensPerTurn); left > 0; left--) append(true, version + rng.integer(2));
    turns.push(fakeTurn(rng, start, columns.tokens.length));
  }
  const id = `trajectory-${rng.integer(1e9)}`;
  const stop = pick<StopReason>(rng, [...policyStops, ...policyStops, ...infrastructureStops]);
  return makeTrajectory({
    id,
    rollout: id,
    taskId: "task-0",
    role: "agent",
    weights: "policy",
    weight: 1,
    tokens_T: Int32Array.from(columns.tokens),
    mask_T: Uint8Array.from(columns.mask),
    logprobs_T: Float32Array.from(columns.logprobs),
    versions_T: Int32Array.from(columns.versions),
    turns,
    score: fakeScore(rng),
    stop,
    ...defined({ failure: infrastructureStops.includes(stop as InfrastructureStop) ? fakeText(rng) : undefined }),
    temperature: pick(rng, [0.7, 1, 1.2]),
    ...fields,
  });
}

/** The same trajectory with a first turn that has these annotations; an empty one is added where it has no turn. */
export function annotated(trajectory: Trajectory, annotations: TurnAnnotations): Trajectory {
  const none: Turn = { span: { start: 0, end: 0 }, text: "", calls: [], reward: 0, observation: "" };
  const [first = none, ...rest] = trajectory.turns;
  return makeTrajectory({ ...trajectory, turns: [{ ...first, annotations }, ...rest] });
}

/** A task with some data. */
export function fakeTask(rng: Rng, id: string): Task {
  return { id, seed: rng.integer(2 ** 31), data: { question: fakeText(rng), answer: rng.integer(100) } };
}

/** Words, with line ends, quotes and letters of several scripts among them. */
export function fakeText(rng: Rng): string {
  const words = ["search", "the", "answer", "is", "42", '"quoted"', "\n", "naïve", "東京", "🙂", "\u2028", "<b>", "\\"];
  return Array.from({ length: rng.integer(12) }, () => pick(rng, words)).join(" ");
}

function fakeTurn(rng: Rng, start: number, end: number): Turn {
  const calls = Array.from({ length: rng.integer(3) }, (): CallRecord => {
    const outcome = pick(rng, ["ok", "ok", "error", "malformed", "unknown-tool", "bad-arguments"] as const);
    const name = pick(rng, ["search", "calculator", "browse"]);
    return { name, arguments: { query: fakeText(rng), top: rng.integer(9) }, outcome, observation: fakeText(rng) };
  });
  return {
    span: { start, end },
    text: fakeText(rng),
    calls,
    reward: pick(rng, [0, 0, -0, 0.25, -1, rng.normal()]),
    observation: fakeText(rng),
    ...defined({
      stateKey: rng.next() < 0.3 ? `state-${rng.integer(5)}` : undefined,
      info: rng.next() < 0.3 ? { depth: rng.integer(9), kind: "left", isEnd: rng.next() < 0.5 } : undefined,
    }),
  };
}

function fakeScore(rng: Rng): Trajectory["score"] {
  const outcome = rng.integer(2);
  const format = rng.normal() / 10;
  return { total: outcome + format, parts: { outcome, format }, success: outcome === 1 };
}

function pick<Value>(rng: Rng, values: readonly Value[]): Value {
  return values[rng.integer(values.length)]!;
}
