import { type Algorithm, cosine, type Env, fromScratch, imitate, liveDoctor, metric, starpo, starpoS } from "ludus";
import { bandit, frozenLake, sokoban } from "ludus/environments";
import type { Beginning, Lab, Recipe, Trained } from "ludus/recipe";
import { ragenClaims } from "./claims.ts";
import { thinkingInRooms, thinkingOnIce } from "./thoughts.ts";

// RAGEN's batch: 16 attempts at each of 8 tasks, 32 of them in an update; learning rates are for a model of 0.3M parameters
const tasksPerStep = 8;
const onBandit = { learningRate: 1e-3 };
const elsewhere = { learningRate: 5e-4 };
/** On the bandit, which is solved after 100: long enough to see what becomes of a solved task. */
const long = 400;
const middling = 100;
/** Sweeps on the lake are compared by what they came to in the last fifth of these steps, or of as many rollouts. */
const short = 40;
const window = 20;

const lake = (actionsPerTurn = 5) => thinkingOnIce(frozenLake({ actionsPerTurn }));
const policy = fromScratch({ size: "tiny", tokenizer: "bytes", valueHead: true });
const weakly = (demonstrations: number, steps: number, noise: number) =>
  imitate({ demonstrations, noise, steps, learningRate: cosine(2e-3, 0.1) });

export const ragen: Recipe = {
  system: "ragen",
  title: "RAGEN: StarPO and StarPO-S",
  measures: {
    success: "right",
    early: `right in training, steps ${(4 * short) / 5 + 1} to ${short}`,
    best: "best in training",
    lost: "lost of its best",
    deviation: "deviation, end / start",
    entropy: "entropy, end / start",
    spike: "largest gradient / mean",
    narrowedAt: "deviation halved at step",
    surerAt: "entropy halved at step",
    alikeAt: "doctor: rewards alike, step",
    trapAt: "doctor: echo trap, step",
    fellAt: "success fell at step",
    seconds: "seconds",
  },
  claims: ragenClaims,
  async run(lab) {
    const atBandit = await begin(lab, "bandit", bandit(), weakly(200, 40, 1), "train");
    const bandits = { steps: long, split: "train" };
    await arm(lab, atBandit, "bandit: StarPO", starpo(onBandit), bandits);
    await arm(lab, atBandit, "bandit: StarPO-S", starpoS(onBandit), bandits);
    const onLake = await begin(lab, "lake", lake(), weakly(2000, 300, 0.5));
    await arm(lab, onLake, "lake: StarPO", starpo(elsewhere), { steps: middling });
    await arm(lab, onLake, "lake: StarPO-S", starpoS(elsewhere), { steps: middling });
    const all = starpoS({ ...elsewhere, share: 1 });
    await arm(lab, onLake, "lake: StarPO-S, keeping all", all, { steps: middling });
    const tenLate = starpoS({ ...elsewhere, miniBatches: 40 });
    const ahead = { steps: middling / 10, tasksPerStep: 10 * tasksPerStep };
    await arm(lab, onLake, "lake: StarPO-S, ten updates a rollout", tenLate, ahead);
    await inRooms(lab);
    if (!lab.isClaimedOnly) await sweeps(lab, atBandit, onLake);
  },
};

async function inRooms(lab: Lab): Promise<void> {
  const start = await begin(lab, "sokoban", thinkingInRooms(sokoban({ maxSolution: 3 })), weakly(3000, 300, 0.6));
  await arm(lab, start, "sokoban: StarPO", starpo(elsewhere), { steps: short });
  await arm(lab, start, "sokoban: StarPO-S", starpoS(elsewhere), { steps: short });
  // as many shortest solutions as the others have attempts, and as many updates
  await lab.arm("sokoban: imitation of shortest solutions", async (kept) => {
    const { seconds } = await start.train("sokoban: imitation of shortest solutions", {
      ...{ algorithm: starpo(elsewhere), steps: 0 },
      warmStart: imitate({
        ...{ demonstrations: short * 16 * tasksPerStep, batchSize: 32, steps: 4 * short, ...elsewhere },
      }),
    });
    kept.measure({ success: await start.evaluate(), seconds });
  });
}

/** What the paper varies besides; no claim compares these. */
async function sweeps<Data, State, Other, OtherState>(
  lab: Lab,
  atBandit: Beginning<Data, State>,
  onLake: Beginning<Other, OtherState>,
): Promise<void> {
  const bandits = { steps: long, split: "train" };
  const groups = starpo({ ...onBandit, advantages: "group" });
  await arm(lab, atBandit, "bandit: StarPO with groups", groups, bandits);
  for (const keep of [0.5, 0.75]) {
    const name = `bandit: StarPO-S, keeping ${100 * keep} %`;
    await arm(lab, atBandit, name, starpoS({ ...onBandit, share: keep }), bandits);
  }
  await arm(lab, onLake, "lake: StarPO, bi-level GAE", starpo({ ...elsewhere, level: {} }), { steps: short });
  // as many updates and rollouts, but collected k updates ahead
  for (const k of [5, 10]) {
    const late = starpo({ ...elsewhere, miniBatches: 4 * k });
    await arm(lab, onLake, `lake: StarPO, online-${k}`, late, { steps: short / k, tasksPerStep: tasksPerStep * k });
  }
  for (const actions of [1, 2]) {
    const start = await begin(lab, `lake, ${actions} a turn`, lake(actions), weakly(2000, 300, 0.5));
    await arm(lab, start, `lake, ${actions} a turn: StarPO`, starpo(elsewhere), { steps: short });
  }
}

async function begin<Data, State>(
  lab: Lab,
  world: string,
  env: Env<Data, State>,
  warmStart: ReturnType<typeof imitate>,
  split = "test",
): Promise<Beginning<Data, State>> {
  const start = await lab.begin({ env, policy, warmStart });
  await lab.arm(`${world}: warm start`, async (arm) => {
    const success = await start.evaluate({ split });
    arm.measure({ success, best: success.success.mean, deviation: 1, seconds: start.seconds });
  });
  return start;
}

function arm<Data, State>(
  lab: Lab,
  start: Beginning<Data, State>,
  name: string,
  algorithm: Algorithm,
  { split = "test", ...sizes }: { steps: number; tasksPerStep?: number; split?: string },
): Promise<void> {
  return lab.arm(name, async (kept) => {
    const firstAt = new Map<string, number>();
    const doctor = liveDoctor({
      config: { algorithm },
      onFinding({ code, step = sizes.steps }) {
        if (!firstAt.has(code)) firstAt.set(code, step);
      },
    });
    const trained = await start.train(name, { algorithm, tasksPerStep, ...sizes, monitors: [doctor.monitor] });
    const success = await start.evaluate({ split });
    const [alikeAt, trapAt] = ["zero-variance", "echo-trap"].map((code) => firstAt.get(code) ?? sizes.steps);
    kept.measure({ success, ...signatures(trained), alikeAt, trapAt, seconds: trained.seconds });
    for (const [key, values] of Object.entries(curvesOf(trained))) kept.curve(key, values);
  });
}

function curvesOf({ history }: Trained): Record<string, number[]> {
  const read = (key: string) => history.map((step) => step[key] ?? 0);
  return {
    success: read(metric.success),
    reward: read(metric.reward),
    deviation: read(metric.rewardStd),
    entropy: read(metric.entropy),
    gradient: read(metric.gradientNorm),
  };
}

/** What RAGEN looks at, in curves averaged over twenty steps. What never happened counts as the run's length. */
function signatures(trained: Trained): Record<string, number> {
  const { success, deviation, entropy, gradient } = curvesOf(trained);
  const steps = success.length;
  const [successes, deviations, entropies] = [success, deviation, entropy].map((curve) => smooth(curve));
  const best = Math.max(...successes);
  const ratio = (curve: readonly number[]) => curve.at(-1)! / Math.max(1e-9, curve[0]);
  // rewards of the bandit go up and down with what its arms happen to pay; success does not
  const fellAt = successes.findIndex((value, step) => value < 0.9 * Math.max(...successes.slice(0, step + 1)));
  const halvedAt = (curve: readonly number[]) => curve.findIndex((value) => value < 0.5 * curve[0]);
  const at = (step: number) => (step < 0 ? steps : Math.min(steps, step + window));
  return {
    early: mean(success.slice(0, short).slice(-Math.min(short, steps) / 5)),
    ...{ best, lost: best === 0 ? 0 : (best - successes.at(-1)!) / best },
    ...{ deviation: ratio(deviations), entropy: ratio(entropies), spike: Math.max(...gradient) / mean(gradient) },
    ...{ narrowedAt: at(halvedAt(deviations)), surerAt: at(halvedAt(entropies)), fellAt: at(fellAt) },
  };
}

function smooth(curve: readonly number[]): number[] {
  const wide = Math.min(window, curve.length);
  return curve.slice(wide - 1).map((_, i) => mean(curve.slice(i, i + wide)));
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
