import { describe, expect, test } from "vitest";
import { fakeEngine } from "../engine/fake-engine.ts";
import { defineEnv } from "../env/define-env.ts";
import { type GoalDialsTask, goalDials } from "../env/environments/goal-dials.ts";
import { byteTokenizer } from "../policy/byte-tokenizer.ts";
import { compactRenderer } from "../policy/compact-renderer.ts";
import { runRollout } from "../rollout/run-rollout.ts";
import type { World } from "../rollout/world.ts";
import { isRelabelled, type Trajectory } from "../schema/trajectory.ts";
import { listed } from "../task/listed.ts";
import { fakeGuideContext } from "./fake-guide-context.ts";
import { guideContract } from "./guide.contract.ts";
import type { Lease, LeasedGroup } from "./guide.ts";
import { type HindsightOptions, hindsight } from "./hindsight.ts";

const env = goalDials();
const { achieved } = env;
const tokenizer = byteTokenizer({ special: ["<s>", "<e>"], markup: [], eos: "<e>" });
const renderer = compactRenderer({ tokenizer });
const end = 257;

describe.each(["final", "future", "episode"] as const)("hindsight, %s", (strategy) => {
  guideContract(() => hindsight({ achieved, strategy }), { env: env as never });
});
describe("hindsight with failures to compare", () => {
  guideContract(() => hindsight({ achieved, strategy: "episode", compare: true }), { env: env as never });
});

/** Says one letter a turn, each with probability one half. */
function saying(words: string) {
  let turn = 0;
  return fakeEngine({
    vocabularySize: tokenizer.vocabularySize,
    tokenBytes: Array.from({ length: tokenizer.vocabularySize }, (_, id) => tokenizer.tokenBytes(id)),
    distribution(tokens) {
      const weights = new Array<number>(tokenizer.vocabularySize).fill(0);
      if (tokens.at(-1) === 256) weights[words.charCodeAt(turn++ % words.length)] = 1;
      else weights[end] = 1;
      return weights;
    },
  });
}

async function attempts<Data>(
  world: World<Data>,
  lease: Lease<Data>,
  words: readonly string[],
): Promise<LeasedGroup<Data>> {
  const made = await Promise.all(
    words.map((each, i) =>
      runRollout(world, lease.task, { engine: saying(each), renderer }, { id: `r/${i}`, seed: i, temperature: 0.5 }),
    ),
  );
  return { lease, group: { task: lease.task, trajectories: made.flatMap(({ trajectories }) => trajectories) } };
}

type Options = Partial<HindsightOptions<GoalDialsTask>>;

async function relabelled(words: readonly string[], options: Options = {}) {
  const guide = hindsight({ achieved, ...options })(fakeGuideContext(env));
  const [picked] = await guide.pick(1);
  const lease = { ...picked, task: { ...picked.task, data: { goal: "0000" } } };
  const result = await attempts(env, lease, words);
  return { extra: await guide.observe([result]), result, metrics: guide.metrics() };
}

const textOf = ({ tokens_T }: Trajectory) => tokenizer.decode(tokens_T, { special: true });
const goalsOf = (groups: readonly { task: { data: GoalDialsTask } }[]) => groups.map(({ task }) => task.data.goal);

describe("a failed attempt", () => {
  test("is played again as one at what it reached last, with the tokens it had sampled", async () => {
    const { extra, result, metrics } = await relabelled(["129x"], { strategy: "final" });
    const [{ task, trajectories }] = extra;
    const [sampled] = result.group.trajectories;
    expect(task).toMatchObject({ data: { goal: "452_" }, parent: result.lease.task.id });
    expect(textOf(sampled)).toBe("____>0000<s>1<e>4___>0000<s>2<e>45__>0000<s>9<e>452_>0000<s>x<e>");
    // the world's own: it ends on the goal, one turn earlier
    expect(trajectories.map(textOf)).toEqual(["____>452_<s>1<e>4___>452_<s>2<e>45__>452_<s>9<e>"]);
    const [own] = trajectories;
    expect(own).toMatchObject({ taskId: task.id, temperature: 0.5, score: { success: true }, stop: "completed" });
    expect([...own.mask_T]).toEqual([...sampled.mask_T.slice(0, own.mask_T.length)]);
    expect([...own.logprobs_T]).toEqual([...sampled.logprobs_T.slice(0, own.logprobs_T.length)]);
    expect([isRelabelled(own), isRelabelled(sampled)]).toEqual([true, false]);
    expect(metrics).toMatchObject({ "hindsight/relabelled": 1, "hindsight/refused": 0 });
  });

  test("is one at several things it came to in the episode", async () => {
    const { extra } = await relabelled(["1234"], { strategy: "episode", goals: 50 });
    expect(new Set(goalsOf(extra))).toEqual(new Set(["4___", "45__", "456_", "4567"]));
    for (const { trajectories } of extra) expect(trajectories[0].score.success).toBe(true);
  });

  test("is learned from the drawn turn on, up to what was reached later", async () => {
    const { extra } = await relabelled(["1234"], { strategy: "future", goals: 200 });
    const learned = extra.map(({ task, trajectories: [{ turns, mask_T }] }) => {
      const isLearned = turns.map(({ span }) => mask_T.subarray(span.start, span.end).includes(1));
      return `${task.data.goal} ${isLearned.indexOf(true)}-${isLearned.length - 1}`;
    });
    const way = ["4___", "45__", "456_", "4567"];
    const all = way.flatMap((goal, last) => Array.from({ length: last + 1 }, (_, from) => `${goal} ${from}-${last}`));
    expect(new Set(learned)).toEqual(new Set(all));
    expect(learned.length).toBe(all.length);
  });

  test("stands beside those of its group that did not get there", async () => {
    const { extra } = await relabelled(["1234", "1239", "1234"], { strategy: "final", compare: true });
    expect(goalsOf(extra)).toEqual(["4567", "4562", "4567"]);
    expect(extra.map(({ trajectories }) => trajectories.map(({ score }) => score.total))).toEqual([
      [1, 0, 1],
      [0, 1, 0],
      [1, 0, 1],
    ]);
  });
});

test("attempts that succeeded, failed to run or came to nothing are left alone", async () => {
  expect((await relabelled(["7777"], { strategy: "final" })).extra).toEqual([]);
  expect((await relabelled(["7770"], { strategy: "final" })).extra.length).toBe(1);
  expect((await relabelled(["xxxx"], { strategy: "final" })).extra).toEqual([]);
  const guide = hindsight({ achieved, strategy: "final" })(fakeGuideContext(env));
  const [lease] = await guide.pick(1);
  const { group } = await attempts(env, lease, ["1"]);
  const broken = group.trajectories.map((each) => ({ ...each, stop: "engine-error" as const }));
  expect(await guide.observe([{ lease, group: { ...group, trajectories: broken } }])).toEqual([]);
});

test("what the world does not count as a success is refused and counted", async () => {
  const { extra, metrics } = await relabelled(["1234"], { achieved: () => [undefined, { goal: "99__" }] });
  expect(extra).toEqual([]);
  expect(metrics["hindsight/refused"]).toBeGreaterThan(0);
});

test("a world that asks for more than was said gives nothing", async () => {
  const talk = defineEnv<number, { turns: number }>({
    name: "talk",
    tasks: listed({ train: [1], test: [1] }),
    start: () => ({ state: { turns: 0 }, say: "?" }),
    act: ({ task, state }) => ({ say: "?", done: ++state.turns === task }),
    score: ({ task }) => (task > 1 ? 1 : 0),
    limits: { turns: 9, turnTokens: 4 },
  });
  const longer = hindsight<number>({ achieved: (task, turns) => turns.map(() => task + 1), strategy: "final" });
  const guide = longer(fakeGuideContext(talk));
  const [lease] = await guide.pick(1);
  expect(await guide.observe([await attempts(talk, lease, ["a"])])).toEqual([]);
  expect(guide.metrics()["hindsight/refused"]).toBe(1);
});

test("an `achieved` that throws stops the step: it is the author's mistake", async () => {
  const broken = () => {
    throw new Error("no such state");
  };
  await expect(relabelled(["1234"], { achieved: broken })).rejects.toThrow("no such state");
});

test.each<[string, object]>([
  ["no function", { achieved: undefined }],
  ["a misspelt option", { achieved, stratgy: "final" }],
  ["an unknown strategy", { achieved, strategy: "last" }],
  ["goals of the last state", { achieved, strategy: "final", goals: 2 }],
  ["no goals", { achieved, goals: 0 }],
  ["comparison where turns are left out", { achieved, strategy: "future", compare: true }],
])("refuses %s", (_, options) => {
  expect(() => hindsight(options as never)).toThrow();
});

test("a large group is replayed in part: so many goals, so many attempts at once", async () => {
  let [running, most] = [0, 0];
  const counted: World<GoalDialsTask> = {
    ...env,
    async attempt(...args) {
      most = Math.max(most, ++running);
      try {
        await new Promise((done) => setImmediate(done));
        return await env.attempt(...args);
      } finally {
        running--;
      }
    },
  };
  const options = { achieved, strategy: "episode", goals: 50, maxGoals: 5, concurrency: 2 } as const;
  const observe = async () => {
    const guide = hindsight(options)(fakeGuideContext(counted));
    const [picked] = await guide.pick(1);
    const lease = { ...picked, task: { ...picked.task, data: { goal: "0000" } } };
    const words = Array.from({ length: 20 }, (_, i) => `12${i % 10}9`);
    const group = await attempts(env, lease, words);
    [running, most] = [0, 0];
    return { extra: await guide.observe([group]), metrics: guide.metrics() };
  };
  const { extra, metrics } = await observe();
  expect(extra).toHaveLength(5);
  expect(most).toBe(2);
  expect(metrics["hindsight/left-out"]).toBeGreaterThan(20);
  expect(goalsOf((await observe()).extra)).toEqual(goalsOf(extra));
});

test.each([{ maxGoals: 0 }, { maxGoals: Number.POSITIVE_INFINITY }, { concurrency: 0.5 }])(
  "%o is refused",
  (option) => {
    expect(() => hindsight({ achieved, ...option })).toThrow("bad-option");
  },
);
