import { expect, expectTypeOf, test } from "vitest";
import { defineEnv } from "../src/env/define-env.ts";
import type { Env } from "../src/env/env.ts";
import { Episode } from "../src/env/episode.ts";
import { weighted } from "../src/reward/combinators.ts";
import { composite } from "../src/reward/composite.ts";
import { exactMatch } from "../src/reward/exact-match.ts";
import { format } from "../src/reward/format.ts";
import { judgeBudget } from "../src/reward/judge/budget.ts";
import { judge } from "../src/reward/judge.ts";
import { warningsOf } from "../src/reward/make-reward.ts";
import type { Reward } from "../src/reward/reward.ts";
import { listed } from "../src/task/listed.ts";

interface Question {
  readonly question: string;
  readonly answer: string;
}
interface State {
  readonly tries: number;
}

const question: Question = { question: "2+2", answer: "4" };
const start = ({ task }: { task: Question }) => ({ state: { tries: 0 }, say: task.question });
const tasks = listed<Question>([question]);

async function play(score: Reward<Question>, says: string) {
  const env = defineEnv<Question, State>({ name: "sum", tasks, start, score });
  const task = { id: "1", seed: 1, data: question };
  const episode = new Episode(env, task, { signal: new AbortController().signal });
  const first = await episode.start();
  expect(first).toHaveProperty("role");
  return {
    env,
    result: await episode.finish(await episode.step(says).then((end) => ("stop" in end ? end : { stop: "completed" }))),
  };
}

test("a reward is an environment's score: of its task, of its task and state, of any task", () => {
  type EnvScore = NonNullable<Env<Question, State>["score"]>;
  expectTypeOf<Reward<Question>>().toExtend<EnvScore>();
  expectTypeOf<Reward<Question, State>>().toExtend<EnvScore>();
  expectTypeOf<Reward>().toExtend<EnvScore>();
  expectTypeOf<Reward<{ gold: string }>>().not.toExtend<EnvScore>();
});

test("a composite scores an episode, and its warnings can be read off the environment", async () => {
  const light = composite({
    outcome: exactMatch((task: Question) => task.answer),
    format: weighted(0.2, format(["answer"])),
  });
  const { result } = await play(light, "4");
  expect(result).toMatchObject({
    stop: "completed",
    scores: { agent: { total: 1, parts: { outcome: 1, format: 0 }, success: true } },
  });
  const heavy = composite({
    outcome: exactMatch((task: Question) => task.answer),
    format: weighted(2, format(["answer"])),
  });
  expect(warningsOf((await play(heavy, "4")).env.score)).toHaveLength(1);
});

test("a judge without budget ends the episode without a score, by the infrastructure's doing", async () => {
  const options = { endpoint: "http://127.0.0.1:1/v1", models: ["m"], task: (task: Question) => task.question };
  const { result } = await play(judge({ ...options, budget: judgeBudget({ maxCalls: 0 }) }), "4");
  expect(result).toMatchObject({ stop: "env-crash", scores: { agent: { parts: {}, success: false } } });
  expect(result.failure).toContain("judge-budget-spent");
});
