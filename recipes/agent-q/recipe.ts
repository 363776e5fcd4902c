import { fromScratch, LudusError } from "ludus";
import type { BrowserEnvState, BrowserEnvTask } from "ludus/environments";
import type { Beginning, Lab, Recipe } from "ludus/recipe";
import { type MctsOptions, mcts, type SearchValue, withSearch } from "ludus/rollout";
import type { Trajectory, TrajectoryGroup } from "ludus/schema";
import {
  dpo,
  type OfflineAlgorithm,
  type PreferencePair,
  rejectionTuning,
  searchedPairs,
  trainOffline,
  trainScorer,
  trainStepScorer,
} from "ludus/train";
import { copyWeights } from "../copy-weights.ts";
import { lessons, stallEnv } from "../stall.ts";
import { agentQClaims } from "./claims.ts";

type Start = Beginning<BrowserEnvTask, BrowserEnvState>;

const env = stallEnv([1, 2, 3]);
const policy = fromScratch({ size: "tiny", threads: 1, tokenizer: 400, valueHead: true });
const warmStart = lessons();
/** Tasks that are learned from: attempts at each, or one searched attempt, which samples about as many turns. */
const learned = { tasks: 100, attempts: 16 };
const searched: Partial<MctsOptions> = { simulations: 5, actions: 4, exploration: 0.5, alpha: 0.5 };
const optimizer = { learningRate: 3e-4 };
const fitting = { epochs: 2, batchSize: 32 };
/** Attempts of the base agent, which its critique is learned from. */
const judged = 300;
const tested = { tasks: 150 };

export const agentQ: Recipe = {
  system: "agent-q",
  title: "Agent Q: search, self-critique, DPO on steps",
  measures: { success: "solved", pairs: "examples", seconds: "seconds" },
  claims: agentQClaims,
  async run(lab) {
    const start = await lab.begin({ env, policy, warmStart });
    // judges have an engine of their own: an arm begins with loading weights, which would drop them
    const bench = await lab.begin({ env, policy });
    await copyWeights(start, bench);
    const { critic, outcome } = await judges(start, bench, lab.seed);
    const atTest = withSearch(env, mcts({ ...searched, value: outcome, critic }));
    const byTruth = withSearch(env, mcts({ ...searched, critic }));
    await lab.arm("base", async (arm) => {
      await start.restore();
      arm.measure({ success: await start.evaluate(tested), seconds: start.seconds });
      arm.also("base + search", { success: await start.evaluate({ ...tested, env: atTest }) });
    });
    const whole = () => attemptsOf(start, lab.seed);
    const tree = (options: Partial<MctsOptions>) => () => searchedOf(start, lab.seed, options);
    await trained(lab, start, "RFT", whole, rejectionTuning(optimizer));
    await trained(lab, start, "DPO", whole, dpo({ ...optimizer, beta: 0.1, pairs: matched }));
    const steps = dpo({ ...optimizer, beta: 0.1, pairs: (group) => searchedPairs(group, { minGap: 0.2 }) });
    await trained(lab, start, "Agent Q without critique", tree({}), steps);
    await trained(lab, start, "Agent Q", tree({ critic }), steps, async (arm) => {
      arm.also("Agent Q + search", { success: await start.evaluate({ ...tested, env: atTest }) });
      arm.also("Agent Q + search, true outcome", { success: await start.evaluate({ ...tested, env: byTruth }) });
    });
  },
};

/** What the agent itself thinks, by value heads on copies of it: of actions, and of attempts that have ended. */
async function judges(
  start: Start,
  bench: Start,
  seed: number,
): Promise<{ critic: SearchValue; outcome: SearchValue }> {
  const { rollouts } = await start.evaluate({ split: "train", tasks: judged, seed: 7 });
  const seen = rollouts.flatMap(({ trajectories }) => trajectories);
  const options = { epochs: 3, learningRate: 1e-3, seed };
  const labelsOf = ({ turns, score }: Trajectory) => turns.map(() => (score.success ? 1 : 0));
  const steps = await trainStepScorer(bench.policy, seen, { ...options, labelsOf, weights: "critic" });
  const whole = await trainScorer(bench.policy, seen, { ...options, weights: "outcome" });
  return {
    critic: async (attempt) => (await steps.steps(attempt)).at(-1) ?? 0,
    outcome: (attempt) => whole.score(attempt),
  };
}

async function attemptsOf(start: Start, seed: number): Promise<Trajectory[]> {
  const { rollouts } = await start.evaluate({ split: "train", ...learned, seed: 1000 + seed });
  return rollouts.flatMap(({ trajectories }) => trajectories);
}

async function searchedOf(start: Start, seed: number, options: Partial<MctsOptions>): Promise<Trajectory[]> {
  const world = withSearch(env, mcts({ ...searched, ...options }));
  const { rollouts } = await start.evaluate({ env: world, split: "train", tasks: learned.tasks, seed: 1000 + seed });
  return rollouts.flatMap(({ trajectories }) => trajectories);
}

/** Successes against failures of the same task, each in one pair at most. */
function matched({ trajectories }: TrajectoryGroup): PreferencePair[] {
  const [good, bad] = [true, false].map((is) => trajectories.filter(({ score }) => score.success === is));
  return good!.slice(0, bad!.length).map((trajectory, index) => {
    return { chosen: [{ trajectory }], rejected: [{ trajectory: bad![index]! }], gap: 1 };
  });
}

type Arm = Parameters<Parameters<Lab["arm"]>[1]>[0];

function trained(
  lab: Lab,
  start: Start,
  name: string,
  sample: () => Promise<Trajectory[]>,
  algorithm: OfflineAlgorithm,
  then: (arm: Arm) => Promise<void> = async () => {},
): Promise<void> {
  return lab.arm(name, async (arm) => {
    const before = performance.now();
    await start.restore();
    const trajectories = await sample();
    const data = { policy: start.policy, trajectories, algorithm, ...fitting, seed: lab.seed };
    const examples = await trainOffline(data).then(
      (result) => result.examples,
      // nothing that was tried differed in what came of it
      (error: unknown) => (error instanceof LudusError && error.code === "no-examples" ? 0 : Promise.reject(error)),
    );
    const seconds = (performance.now() - before) / 1000;
    arm.measure({ success: await start.evaluate(tested), pairs: examples, seconds });
    await then(arm);
  });
}
