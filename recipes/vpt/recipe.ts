import { cosine, type EvalReport, fromScratch, grpo, imitate } from "ludus";
import { craftGrid } from "ludus/environments";
import type { Beginning, Lab, Recipe } from "ludus/recipe";
import { demonstrate } from "ludus/rollout";
import type { Trajectory } from "ludus/schema";
import { vptClaims } from "./claims.ts";
import { inverseDynamics, record, shown, transitionsOf, type Video } from "./videos.ts";

const env = craftGrid({ size: 3, turns: 14 });
const labelledEpisodes = 10;
const unlabelledEpisodes = 300;
/** Episodes that are kept apart, for accuracies. */
const heldOutEpisodes = 50;
const policy = fromScratch({ size: "tiny", threads: 1, tokenizer: "bytes", contextLength: 384 });
const pairPolicy = fromScratch({ size: "tiny", threads: 1, tokenizer: "bytes", contextLength: 64 });
const learningRate = cosine(1e-3, 0.1);
const rl = { algorithm: grpo({ groupSize: 8, learningRate: 1e-4 }), steps: 30, tasksPerStep: 8 };

export const vpt: Recipe = {
  system: "vpt",
  title: "Video PreTraining",
  measures: { success: "diamond", accuracy: "actions as the player's", seconds: "seconds" },
  claims: vptClaims,
  async run(lab) {
    const labelled = await record(env, labelledEpisodes, 2_000_000);
    const unlabelled = await record(env, unlabelledEpisodes, 3_000_000 + unlabelledEpisodes * lab.seed);
    const kept = await record(env, heldOutEpisodes, 4_000_000);
    const { videos, labels } = await label(lab, labelled, unlabelled, kept);
    await lab.arm("inverse dynamics", async (arm) => arm.measure(labels));

    const start = await lab.begin({ env, policy });
    const held = shown(kept, env.limits);
    const clone = async (name: string, from: readonly Video[], steps: number) => {
      const demonstrations = await trajectoriesOf(from, start);
      const warmStart = imitate({ demonstrations, steps, batchSize: 24, learningRate });
      return start.train(name, { warmStart, algorithm: grpo(), steps: 0 });
    };
    const measured = async () => ({
      success: await start.evaluate({ tasks: 200 }),
      accuracy: asPlayed(await start.evaluate({ env: held as never, tasks: heldOutEpisodes, temperature: 0 })),
    });
    await lab.arm("labelled alone", async (arm) => {
      const { seconds } = await clone("labelled alone", labelled, 100);
      arm.measure({ ...(await measured()), seconds });
    });
    await lab.arm("videos, then RL", async (arm) => {
      const cloned = await clone("videos", videos, 250);
      arm.also("videos", { ...(await measured()), seconds: cloned.seconds });
      const { seconds, history } = await start.trainOn("videos, then RL", rl);
      arm.measure({ ...(await measured()), seconds: cloned.seconds + seconds });
      arm.curve(
        "success",
        history.map((step) => step["rollout/success"] ?? 0),
      );
    });
    await lab.arm("RL from scratch", async (arm) => {
      const { seconds } = await start.train("RL from scratch", rl);
      arm.measure({ ...(await measured()), seconds });
    });
  },
};

/** Learns inverse dynamics from the labelled episodes, and labels the others. */
async function label(lab: Lab, labelled: readonly Video[], unlabelled: readonly Video[], kept: readonly Video[]) {
  const asked = unlabelled.flatMap(transitionsOf);
  const warmStart = imitate({ demonstrations: 1000, steps: 150, batchSize: 32, learningRate });
  const model = await lab.begin({
    env: inverseDynamics(labelled.flatMap(transitionsOf), asked),
    policy: pairPolicy,
    warmStart,
  });
  const said = new Map<string, string>();
  const ask = async (transitions: typeof asked) => {
    const about = inverseDynamics(transitions, transitions);
    // "train" is the same list, and is not moved when settings are chosen on other tasks
    return model.evaluate({ env: about, split: "train", tasks: transitions.length, temperature: 0 });
  };
  for (const { task, trajectories } of (await ask(asked)).rollouts) {
    const { before, after } = task.data as (typeof asked)[number];
    said.set(`${before} ${after}`, trajectories[0].turns[0]!.text.trim());
  }
  const videos = unlabelled.map(({ frames }) => ({
    frames,
    actions: frames.slice(1).map((after, index) => said.get(`${frames[index]} ${after}`)!),
  }));
  const accuracy = (await ask(kept.flatMap(transitionsOf))).success.mean;
  return { videos, labels: { accuracy, seconds: model.seconds } };
}

async function trajectoriesOf(videos: readonly Video[], { policy: speaker }: Pick<Beginning, "policy">) {
  const world = shown(videos, env.limits);
  const made: Trajectory[] = [];
  for (let index = 0; index < videos.length; index++) {
    const task = await world.tasks.at("train", index);
    made.push(...(await demonstrate(world, task, speaker, { id: `video/${index}`, seed: index })).trajectories);
  }
  return made;
}

/** The share of turns in which the policy said what the player did. */
function asPlayed({ rollouts }: EvalReport): number {
  const turns = rollouts.flatMap(({ trajectories }) => trajectories[0].turns);
  return turns.filter(({ info }) => info?.isRight === true).length / turns.length;
}
