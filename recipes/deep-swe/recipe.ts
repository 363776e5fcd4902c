import {
  type Algorithm,
  cosine,
  deepswe,
  type EvalReport,
  fromScratch,
  grpo,
  imitate,
  metric,
  type Rollout,
} from "ludus";
import { groupRelative } from "ludus/credit";
import { bestOfN } from "ludus/eval";
import { klPenalty, ppoClip, sumLosses } from "ludus/loss";
import type { Arm, Beginning, Recipe, Trained } from "ludus/recipe";
import { trainScorer } from "ludus/train";
import { from } from "../tasks.ts";
import { deepSweClaims } from "./claims.ts";
import { type RepositoryState, type RepositoryTask, smallRepositories } from "./world.ts";

const env = smallRepositories();
// two updates a step: with one the policy is where it was when it sampled, and nothing is clipped
const settings = { groupSize: 8, learningRate: 5e-4, miniBatches: 2 };
const common = { steps: 20, tasksPerStep: 16 };
const attempts = 16;
/** Tasks from here on are neither imitated nor reinforced: the verifier learns on these. */
const unseen = 100_000;

const aggregation = "seq-mean-token-sum";
const plusPlus = deepswe(settings);
const narrow = ppoClip({ aggregation, clipLow: 0.2, clipHigh: 0.2 });

/** GRPO++, and with one of its pieces as GRPO has it. */
const arms: readonly (readonly [name: string, algorithm: Algorithm])[] = [
  ["GRPO++", plusPlus],
  ["without compact filtering", { ...plusPlus, maskStops: [] }],
  ["GRPO", grpo({ ...settings, kl: 0.01 })],
  ["divided by the deviation", { ...plusPlus, credit: groupRelative() }],
  [
    "with a KL penalty",
    { ...plusPlus, loss: sumLosses([plusPlus.loss, klPenalty({ coefficient: 0.01, estimator: "k3", aggregation })]) },
  ],
  ["clip 0.2", { ...plusPlus, loss: narrow }],
];

type Start = Beginning<RepositoryTask, RepositoryState>;

export const deepSwe: Recipe = {
  system: "deep-swe",
  title: "DeepSWE",
  measures: {
    success: "mended",
    anyOf: "mended by one of 16",
    unfinished: "attempts that hit a limit",
    turns: "turns",
    seconds: "seconds",
  },
  claims: deepSweClaims,
  async run(lab) {
    const start = await lab.begin({
      env,
      policy: fromScratch({ size: "tiny", tokenizer: "bytes", valueHead: true }),
      warmStart: imitate({
        demonstrations: 3000,
        noise: 0.25,
        steps: 500,
        batchSize: 32,
        learningRate: cosine(3e-3, 0.1),
      }),
    });
    await lab.arm("warm start", async (arm) => {
      await start.restore();
      arm.measure({ ...measuresOf(await start.evaluate()), seconds: start.seconds });
    });
    for (const [name, algorithm] of arms) {
      await lab.arm(name, async (arm) => {
        const trained = await start.train(name, { algorithm, ...common });
        arm.measure({ ...measuresOf(await start.evaluate()), seconds: trained.seconds });
        arm.curve("mended in training", successes(trained));
        if (name === "GRPO++") await choose(arm, start, lab.seed);
      });
    }
  },
};

/** Of sixteen attempts at each of 100 bugs one is handed in: which, a learned verifier says, or running the repository's own tests, or both. */
async function choose(arm: Arm, start: Start, seed: number): Promise<void> {
  const seen = await start.evaluate({ env: from(env, unseen), split: "train", tasks: 60, attempts: 8, seed: 7 });
  const report = await start.evaluate({ tasks: 100, attempts });
  arm.measure({ anyOf: Object.values(report.passAtK).at(-1)!.mean });
  const verifier = await trainScorer(
    start.policy,
    seen.rollouts.flatMap(({ trajectories }) => trajectories),
    { epochs: 3, seed },
  );
  const run = (rollout: Rollout) => (passesOwnTests(rollout) ? 1 : 0);
  const hybrid = async (rollout: Rollout) => run(rollout) + (await verifier.score(rollout));
  for (const [name, score] of [
    ["verifier of 16", verifier.score],
    ["execution of 16", run],
    ["hybrid of 16", hybrid],
  ] as const) {
    arm.also(name, { success: (await bestOfN(report, score)).mean });
  }
  await verifier.release();
}

/** Whether the repository's own tests pass with what is handed in; attempts that did not end hand nothing in. */
function passesOwnTests({ trajectories }: Rollout): boolean {
  return trajectories[0]?.turns.at(-1)?.info?.passes === true;
}

function measuresOf(report: EvalReport) {
  const { stops, rollouts, turns } = report;
  return { success: report, unfinished: (stops["max-turns"] ?? 0) / Math.max(1, rollouts.length), turns };
}

const successes = ({ history }: Trained) => history.map((step) => step[metric.success] ?? 0);
