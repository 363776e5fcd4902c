import { cosine, fromScratch, imitate } from "ludus";
import { type CountdownTask, countdown } from "ludus/environments";
import type { Beginning, Recipe } from "ludus/recipe";
import { type RolloutGroup, runGroup } from "ludus/rollout";
import type { Trajectory } from "ludus/schema";
import { dpo, type Scorer, trainOffline, trainScorer, trajectoryPairs } from "ludus/train";
import { selfRewardingClaims } from "./claims.ts";

const env = countdown({ counts: [3], maxNumber: 9, minTarget: 1, maxTarget: 27, operators: ["+", "-"] });
const policy = fromScratch({ size: "tiny", tokenizer: "bytes", valueHead: true });
/** Attempts with true labels, from which the policy learns to judge: the evaluation fine-tuning of the paper. */
const labelled = 600;
const rounds = 5;
const tasksPerRound = 128;
/** N of the paper. */
const candidates = 4;
const judging = { epochs: 10, learningRate: 1e-3 };
/** Pairs that the judge tells apart by less are left out. */
const minGap = 0.02;

type Start = Beginning<CountdownTask, undefined>;

export const selfRewarding: Recipe = {
  system: "self-rewarding",
  title: "Self-Rewarding Language Models",
  measures: {
    success: "right",
    selfScore: "its own score",
    overrated: "own score less truth",
    agreement: "judgements that are true",
    seconds: "seconds",
  },
  claims: selfRewardingClaims,
  async run(lab) {
    const warmStart = imitate({ demonstrations: 4000, noise: [0, 0.8], steps: 400, learningRate: cosine(2e-3, 0.1) });
    const start = await lab.begin({ env, policy, warmStart });
    const arms: [string, number, number][] = [
      ["warm start", 0, 0],
      ["judged by itself", rounds, 0],
      ["a tenth checked", rounds, 0.1],
      ["all checked", rounds, 1],
    ];
    for (const [name, times, checked] of arms) {
      await lab.arm(name, async (arm) => {
        const before = performance.now();
        await start.restore();
        const judge = await SelfJudge.open(start);
        const scores: number[] = [];
        const truths: number[] = [];
        for (let round = 0; round < times; round++) {
          const groups = await sampled(start, lab.seed, round);
          const { own, truth } = await judge.score(groups, checked);
          scores.push(own);
          truths.push(truth);
          await prefer(start, judge, groups, lab.seed * 100 + round);
        }
        const report = await start.evaluate();
        const { own, truth, agreement } = await judge.look(report.rollouts.flatMap(({ trajectories }) => trajectories));
        const seconds = (performance.now() - before) / 1000;
        arm.measure({ success: report, selfScore: own, overrated: own - truth, agreement, seconds });
        arm.curve("own score", scores);
        arm.curve("truth", truths);
        await judge.close();
      });
    }
  },
};

/** The value head of a copy of the policy: told the truth once, then what it thinks itself, or what a rule says of some attempts. */
class SelfJudge {
  readonly labels = new Map<string, number>();
  #scorer: Scorer | undefined;

  static async open(start: Start): Promise<SelfJudge> {
    const judge = new SelfJudge();
    const { rollouts } = await start.evaluate({ split: "train", tasks: labelled, seed: 7 });
    const labelOf = (trajectory: Trajectory) => judge.labels.get(trajectory.id) ?? (trajectory.score.success ? 1 : 0);
    const seen = rollouts.flatMap(({ trajectories }) => trajectories);
    judge.#scorer = await trainScorer(start.policy, seen, { ...judging, labelOf });
    return judge;
  }

  /** Judges all attempts of a round, and learns from its own judgements; of a share of the tasks it is told the truth. */
  async score(groups: readonly RolloutGroup<CountdownTask>[], checked: number) {
    let [own, truth, count] = [0, 0, 0];
    for (const [index, { trajectories }] of groups.entries()) {
      for (const trajectory of trajectories) {
        const score = await this.#scorer!.score({ trajectories: [trajectory] });
        const isTrue = trajectory.score.success ? 1 : 0;
        own += score;
        truth += isTrue;
        count++;
        this.labels.set(trajectory.id, index < checked * groups.length ? isTrue : score);
      }
    }
    await this.#scorer!.learn(groups.flatMap(({ trajectories }) => trajectories));
    return { own: own / count, truth: truth / count };
  }

  async look(trajectories: readonly Trajectory[]) {
    let [own, truth, agreed] = [0, 0, 0];
    for (const trajectory of trajectories) {
      const score = await this.#scorer!.score({ trajectories: [trajectory] });
      own += score;
      truth += trajectory.score.success ? 1 : 0;
      agreed += score > 0.5 === trajectory.score.success ? 1 : 0;
    }
    const n = trajectories.length;
    return { own: own / n, truth: truth / n, agreement: agreed / n };
  }

  close(): Promise<void> {
    return this.#scorer!.release();
  }
}

function sampled(start: Start, seed: number, round: number): Promise<RolloutGroup<CountdownTask>[]> {
  return Promise.all(
    Array.from({ length: tasksPerRound }, async (_, index) => {
      const task = await env.tasks.at("train", 10_000 + round * tasksPerRound + index);
      const id = `round-${round}/${index}`;
      return runGroup(env, task, start.policy, { id, seed: seed * 10_000 + round * 1000 + index, size: candidates });
    }),
  );
}

/** Winner and loser of each task by the judge's labels; ties are left out. */
async function prefer(start: Start, judge: SelfJudge, groups: readonly RolloutGroup<CountdownTask>[], seed: number) {
  const worthOf = ({ id }: Trajectory) => judge.labels.get(id) ?? 0;
  const pairs = groups.flatMap((group) => trajectoryPairs(group, { worthOf, minGap }));
  if (pairs.length === 0) return;
  const examples = dpo({
    beta: 0.1,
    learningRate: 2e-4,
    pairs: (group) => trajectoryPairs(group, { worthOf, minGap }),
  });
  await trainOffline({ policy: start.policy, groups, algorithm: examples, epochs: 2, batchSize: 32, seed });
}
