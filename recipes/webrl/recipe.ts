import { fromScratch } from "ludus";
import { reinforce, webRlSmooth, webRlSquared } from "ludus/loss";
import type { Lab, Recipe } from "ludus/recipe";
import type { Trajectory } from "ludus/schema";
import { type Scorer, trainScorer } from "ludus/train";
import { copyWeights } from "../copy-weights.ts";
import { lessons, stallEnv } from "../stall.ts";
import { webRlClaims } from "./claims.ts";
import { Critic } from "./critic.ts";
import {
  codeAdvantages,
  drawn,
  halfAdvantages,
  type Memory,
  phases,
  runPhase,
  type Start,
  type Way,
} from "./phases.ts";
import { withTasks } from "./tasks.ts";

const env = stallEnv([1, 2, 3]);
/** Tasks that the agent can do before it learns from its own attempts: what may be forgotten. */
const easy = stallEnv([1]);
const policy = fromScratch({ size: "tiny", threads: 1, tokenizer: 400, valueHead: true });
const warmStart = lessons();
/** Episodes with a label: the reward model learns from them, the critic begins with a part. */
const labelled = 400;
const checked = 200;
const ofCritic = 150;

const published: Way = {
  tasks: "from failures",
  reward: "learned",
  loss: webRlSquared({ beta: 0.3 }),
  advantages: halfAdvantages,
  replay: { above: 0.5, upTo: 0.95 },
};
const free = reinforce({ aggregation: "token-mean" });
const arms: Readonly<Record<string, Way>> = {
  WebRL: published,
  "WebRL, the code's loss": { ...published, loss: webRlSmooth(), advantages: codeAdvantages },
  "WebRL, true reward": { ...published, reward: "true" },
  "uniform tasks": { ...published, tasks: "uniform" },
  "without KL": { ...published, loss: free },
  "without KL and replay": { ...published, loss: free, replay: undefined },
  "without replay": { ...published, replay: undefined },
  "replay without a window": { ...published, replay: { above: 0, upTo: 1 } },
};

export const webRl: Recipe = {
  system: "webrl",
  title: "WebRL: a curriculum from failures",
  measures: {
    success: "solved",
    onTheWay: "solved, mean over phases",
    kept: "easy tasks solved",
    accuracy: "labels that are right",
    seconds: "seconds",
  },
  claims: webRlClaims,
  async run(lab) {
    const start = await lab.begin({ env, policy, warmStart });
    // models of rewards and values have an engine of their own: an arm begins with loading weights, which would drop them
    const bench = await lab.begin({ env, policy });
    await copyWeights(start, bench);
    const { rollouts } = await start.evaluate({ split: "train", tasks: labelled, seed: 7 });
    const seen = rollouts.flatMap(({ trajectories }) => trajectories);
    const judge = await trainScorer(bench.policy, seen, { epochs: 6, learningRate: 1e-3, seed: lab.seed });
    await lab.arm("SFT", async (arm) => {
      await start.restore();
      const report = await start.evaluate();
      const kept = await start.evaluate({ env: easy, tasks: 100 });
      arm.measure({ success: report, onTheWay: report, kept, seconds: start.seconds });
      const { rollouts: held } = await start.evaluate({ tasks: checked, seed: 11 });
      const accuracy = await accuracyOf(
        judge,
        held.flatMap(({ trajectories }) => trajectories),
      );
      arm.also("reward model", { accuracy: accuracy.learned });
      arm.also("the more frequent answer", { accuracy: accuracy.frequent });
    });
    for (const [name, way] of Object.entries(arms)) await learned(lab, name, way, { start, bench, judge, seen });
  },
};

interface Begun {
  readonly start: Start;
  readonly bench: Start;
  readonly judge: Scorer;
  readonly seen: readonly Trajectory[];
}

function learned(lab: Lab, name: string, way: Way, { start, bench, judge, seen }: Begun): Promise<void> {
  return lab.arm(name, async (arm) => {
    const before = performance.now();
    await start.restore();
    const truth = ({ score }: Trajectory) => (score.success ? 1 : 0);
    const critic = await Critic.open(bench.policy, seen.slice(0, ofCritic), truth);
    const shop = { start, env, judge, critic, seed: lab.seed };
    const memory: Memory = { failed: await failedAtFirst(start), successes: new Map() };
    const successes: number[] = [];
    for (let phase = 0; phase < phases; phase++) {
      await runPhase(shop, way, memory, phase);
      successes.push((await start.evaluate({ tasks: 150 })).success.mean);
    }
    await critic.close();
    const seconds = (performance.now() - before) / 1000;
    const onTheWay = successes.reduce((sum, success) => sum + success, 0) / phases;
    const kept = await start.evaluate({ env: easy, tasks: 100 });
    arm.measure({ success: await start.evaluate(), onTheWay, kept, seconds });
    arm.curve("success", successes);
  });
}

/** Tasks of training that the agent fails at before it learns. */
async function failedAtFirst(start: Start) {
  const tasks = await drawn(env, -1);
  const { rollouts } = await start.evaluate({ env: withTasks(env, tasks), split: "train", tasks: tasks.length });
  return rollouts.flatMap(({ trajectories, task }) =>
    trajectories[0]!.score.success ? [] : [task.data as (typeof tasks)[number]],
  );
}

async function accuracyOf(judge: Scorer, held: readonly Trajectory[]) {
  let [right, successes] = [0, 0];
  for (const trajectory of held) {
    const isTrue = trajectory.score.success;
    if ((await judge.score({ trajectories: [trajectory] })) >= 0.5 === isTrue) right++;
    if (isTrue) successes++;
  }
  const share = successes / held.length;
  return { learned: right / held.length, frequent: Math.max(share, 1 - share) };
}
