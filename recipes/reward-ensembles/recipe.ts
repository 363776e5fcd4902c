import { cosine, createRng, type Env, fromScratch, grpo, imitate, liveDoctor } from "ludus";
import { type CountdownTask, countdown } from "ludus/environments";
import type { Beginning, Lab, Recipe } from "ludus/recipe";
import { type EnsembleOptions, ensemble, makeReward, outcomeModel, type Reward } from "ludus/reward";
import { type LearningPolicy, type Scorer, trainScorer } from "ludus/train";
import { rewardEnsemblesClaims } from "./claims.ts";

// whether an equation is right is hard for so small a model to tell: what it goes by can be had without being right
const env = countdown({ counts: [3], maxNumber: 9, minTarget: 1, maxTarget: 27, operators: ["+", "-"] });
const policy = fromScratch({ size: "tiny", tokenizer: "bytes", valueHead: true });
const members = 4;
/** Attempts with a label; an ensemble has no more of them than one model. */
const labelled = 2000;
const steps = 25;
const common = { tasksPerStep: 16, steps };
const algorithm = grpo({ learningRate: 3e-4 });

type Judge = Reward<CountdownTask, undefined>;

export const rewardEnsembles: Recipe = {
  system: "reward-ensembles",
  title: "Ensembles of reward models",
  measures: {
    success: "right",
    best: "best in training",
    proxy: "learned reward at the end",
    foundAt: "doctor: grader hacking, step",
    seconds: "seconds",
  },
  claims: rewardEnsemblesClaims,
  async run(lab) {
    const warmStart = imitate({ demonstrations: 4000, noise: [0, 0.8], steps: 400, learningRate: cosine(2e-3, 0.1) });
    const start = await lab.begin({ env, policy, warmStart });
    // judges have an engine of their own: an arm begins with loading weights, which would drop them
    const bench = await lab.begin({ env, policy });
    const scorers = await judges(start, bench.policy);
    const models = scorers.map((scorer): Judge => outcomeModel(scorer));
    await lab.arm("warm start", async (arm) => {
      await start.restore();
      arm.measure({ success: await start.evaluate(), seconds: start.seconds });
    });
    await optimise(lab, start, "one model", models[0]);
    await optimise(lab, start, "one model, stopped by the doctor", models[0], true);
    const aggregates: [string, Partial<EnsembleOptions>][] = [
      ["mean of four", { aggregate: "mean" }],
      ["worst of four", { aggregate: "min" }],
      ["mean less variance of four", { aggregate: "mean-variance", lambda: 2 }],
    ];
    for (const [name, options] of aggregates) await optimise(lab, start, name, ensemble(models, options));
    for (const scorer of scorers) await scorer.release();
  },
};

/** Models made from nothing: the first is taught by all attempts of the warm start that have a label, the others by as many drawn from them with replacement. */
async function judges(start: Beginning<CountdownTask, undefined>, bench: LearningPolicy): Promise<Scorer[]> {
  await start.restore();
  const { rollouts } = await start.evaluate({ split: "train", tasks: labelled, seed: 7 });
  const scorers: Scorer[] = [];
  for (let member = 0; member < members; member++) {
    const rng = createRng(member);
    const drawn = member === 0 ? rollouts : rollouts.map(() => rollouts[rng.integer(rollouts.length)]);
    const own = drawn.flatMap(({ trajectories }) => trajectories);
    const options = { weights: `judge-${member}`, seed: member, epochs: 4, learningRate: 1e-3 };
    scorers.push(await trainScorer(bench, own, options));
  }
  return scorers;
}

async function optimise(
  lab: Lab,
  start: Beginning<CountdownTask, undefined>,
  name: string,
  proxy: Judge,
  isStopped = false,
): Promise<void> {
  await lab.arm(name, async (arm) => {
    let foundAt = steps;
    const found = new AbortController();
    const doctor = liveDoctor({
      every: 1,
      config: { algorithm },
      onFinding: ({ code, step }) => {
        if (code !== "grader-hacking") return;
        foundAt = Math.min(foundAt, step);
        // the same run as without it, tasks included, up to here
        if (isStopped) found.abort();
      },
    });
    const training = { algorithm, env: judged(proxy), ...common, monitors: [doctor.monitor], signal: found.signal };
    const { history, seconds } = await start.train(name, training);
    const successes = history.map((step) => step["rollout/success"] ?? 0);
    const rewards = history.map((step) => step["rollout/reward"] ?? 0);
    const last = rewards.slice(-5);
    arm.measure({
      success: await start.evaluate(),
      best: Math.max(...successes),
      proxy: last.reduce((sum, reward) => sum + reward, 0) / last.length,
      foundAt,
      seconds,
    });
    arm.curve("success", successes);
    arm.curve("reward", rewards);
  });
}

/** The proxy is what is learned from; success, which is only reported, is the truth. */
function judged(proxy: Judge): Env<CountdownTask, undefined> {
  const score: Judge = makeReward(
    async (episode) => {
      const { total, parts } = await proxy(episode);
      const truth = await env.score!({ ...episode, role: "agent" });
      return { total, parts, success: truth === 1 };
    },
    { range: [-1, 1] },
  );
  return { ...env, score };
}
