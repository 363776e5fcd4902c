import { type Algorithm, cosine, type Env, fromScratch, imitate, metric, starpo, starpoS } from "ludus";
import { bandit, frozenLake, sokoban } from "ludus/environments";
import type { Beginning, Lab, Recipe, Trained } from "ludus/recipe";

// RAGEN's batch: 16 attempts at each of 8 tasks; the learning rate is for a model of 0.3M parameters
const learningRate = 1e-3;
const tasksPerStep = 8;
const steps = 120;
const half = steps / 2;
const options = { learningRate };

const lake = (actionsPerTurn = 5) => frozenLake({ isSlippery: false, actionsPerTurn });
const policy = fromScratch({ size: "tiny", tokenizer: "bytes", valueHead: true });
const weakly = (demonstrations: number, steps: number, noise: number) =>
  imitate({ demonstrations, noise, steps, learningRate: cosine(2e-3, 0.1) });

export const ragen: Recipe = {
  system: "ragen",
  title: "RAGEN: StarPO and StarPO-S",
  claim:
    "Trained for long, plain StarPO falls into the echo trap; learning only from the groups whose rewards differ most keeps it out",
  measures: {
    success: "right",
    best: "best, training",
    lost: "lost of its best",
    deviation: "deviation, end / start",
    entropy: "entropy, end / start",
    narrowedAt: "deviation halved at step",
    fellAt: "reward fell at step",
    seconds: "seconds",
  },
  compare: [
    { method: "lake: StarPO-S", baseline: "lake: StarPO", measure: "lost", want: "less" },
    { method: "lake: StarPO-S", baseline: "lake: StarPO", measure: "success", want: "more" },
    { method: "lake: StarPO-S", baseline: "lake: warm start", measure: "success", want: "more" },
  ],
  async run(lab) {
    const onLake = await begin(lab, "lake", lake(), weakly(2000, 300, 0.5));
    await arm(lab, onLake, "lake: StarPO", starpo(options), { steps });
    for (const keep of [0.25, 0.5, 0.75]) {
      const name = keep === 0.25 ? "lake: StarPO-S" : `lake: StarPO-S, keeping ${100 * keep} %`;
      await arm(lab, onLake, name, starpoS({ ...options, keep }), { steps });
    }
    await arm(lab, onLake, "lake: StarPO, bi-level GAE", starpo({ ...options, level: {} }), { steps });
    // the same number of updates and rollouts, but collected k updates ahead
    for (const k of [5, 10]) {
      const late = starpoS({ ...options, miniBatches: 4 * k });
      await arm(lab, onLake, `lake: StarPO-S, online-${k}`, late, { steps: steps / k, tasksPerStep: tasksPerStep * k });
    }
    for (const actions of [1, 2]) {
      const fewer = lake(actions);
      const start = await begin(lab, `lake, ${actions} a turn`, fewer, weakly(2000, 300, 0.5));
      await arm(lab, start, `lake, ${actions} a turn: StarPO-S`, starpoS(options), { steps: half });
    }
    const onBandit = await begin(lab, "bandit", bandit(), weakly(200, 40, 1), "train");
    await arm(lab, onBandit, "bandit: StarPO", starpo(options), { steps: half, split: "train" });
    await arm(lab, onBandit, "bandit: StarPO-S", starpoS(options), { steps: half, split: "train" });
    const inRooms = await begin(lab, "sokoban", sokoban({ maxSolution: 5 }), weakly(3000, 300, 0.4));
    await arm(lab, inRooms, "sokoban: StarPO", starpo(options), { steps: half });
    await arm(lab, inRooms, "sokoban: StarPO-S", starpoS(options), { steps: half });
  },
};

async function begin<Data, State>(
  lab: Lab,
  world: string,
  env: Env<Data, State>,
  warmStart: ReturnType<typeof imitate>,
  split = "test",
): Promise<Beginning<Data, State>> {
  const start = await lab.begin({ env, policy, warmStart });
  lab.measure(`${world}: warm start`, {
    success: (await start.evaluate({ split })).success.mean,
    seconds: start.seconds,
  });
  return start;
}

async function arm<Data, State>(
  lab: Lab,
  start: Beginning<Data, State>,
  name: string,
  algorithm: Algorithm,
  { split = "test", ...sizes }: { steps: number; tasksPerStep?: number; split?: string },
): Promise<void> {
  const trained = await start.train(name, { algorithm, tasksPerStep, ...sizes });
  const success = (await start.evaluate({ split })).success.mean;
  lab.measure(name, { success, ...signatures(trained), seconds: trained.seconds });
  for (const [key, values] of Object.entries(curvesOf(trained))) lab.curve(name, key, values);
}

function curvesOf({ history }: Trained): Record<string, number[]> {
  const read = (key: string) => history.map((step) => step[key] ?? 0);
  return {
    success: read(metric.success),
    reward: read(metric.reward),
    deviation: read(metric.deviation),
    entropy: read(metric.entropy),
    gradient: read(metric.gradientNorm),
  };
}

/** What RAGEN looks at: how much of the best reward is lost, and what fell when. Curves are averaged over five steps. */
function signatures(trained: Trained): Record<string, number> {
  const { reward, success, deviation, entropy } = curvesOf(trained);
  const [rewards, successes, deviations, entropies] = [reward, success, deviation, entropy].map((curve) =>
    smooth(curve!),
  );
  const best = Math.max(...successes!);
  const last = successes!.at(-1)!;
  const ratio = (curve: readonly number[]) => curve.at(-1)! / Math.max(1e-9, curve[0]!);
  const bestAt = rewards!.indexOf(Math.max(...rewards!));
  const fellAt = rewards!.findIndex((value, step) => step > bestAt && value < 0.8 * rewards![bestAt]!);
  const narrowedAt = deviations!.findIndex((value) => value < 0.5 * deviations![0]!);
  return {
    ...{ best, lost: best === 0 ? 0 : (best - last) / best, deviation: ratio(deviations!), entropy: ratio(entropies!) },
    // never, within the run: its length
    ...{ narrowedAt: narrowedAt < 0 ? reward!.length : narrowedAt, fellAt: fellAt < 0 ? reward!.length : fellAt },
  };
}

function smooth(curve: readonly number[]): number[] {
  const window = 5;
  return curve.slice(window - 1).map((_, i) => curve.slice(i, i + window).reduce((a, b) => a + b, 0) / window);
}
