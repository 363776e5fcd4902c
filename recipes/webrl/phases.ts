import { createRng } from "ludus";
import type { BrowserEnvState, BrowserEnvTask } from "ludus/environments";
import type { Loss } from "ludus/loss";
import type { Beginning } from "ludus/recipe";
import type { Trajectory } from "ludus/schema";
import { imitateOffline, type OfflineAlgorithm, type Scorer, trainOffline } from "ludus/train";
import type { Critic } from "./critic.ts";
import { alike, isFeasible, type WebEnv, withTasks } from "./tasks.ts";

export type Start = Beginning<BrowserEnvTask, BrowserEnvState>;

/** What the arms differ in. */
export interface Way {
  /** Tasks made from failed ones and filtered, or drawn as the environment draws them. */
  readonly tasks: "from failures" | "uniform";
  /** Whom labels come from. */
  readonly reward: "learned" | "true";
  readonly loss: Loss;
  readonly advantages: (label: number, values: readonly number[]) => readonly number[];
  /** Which actions of earlier successes are learned from again, by how probable they are; none where absent. */
  readonly replay: { readonly above: number; readonly upTo: number } | undefined;
}

export const phases = 3;
export const tasksPerPhase = 40;
const attempts = 4;
const candidates = 3;
/** V of the first page, of tasks that are kept. */
const learnable = { from: 0.05, to: 0.75 };
const replayedPerFresh = 2;
const learning = { learningRate: 5e-4, epochs: 2, batchSize: 32 };

/** A = λ (r + V' − V) + (1 − λ) (r_T − V), λ one half: the paper's. */
export function halfAdvantages(label: number, values: readonly number[]): number[] {
  return values.map((value, t) => {
    const next = values[t + 1];
    const step = next === undefined ? label - value : next - value;
    return (step + (label - value)) / 2;
  });
}

/** V' − V − 0.05 + r + the discounted return, within ±1: the code's. */
export function codeAdvantages(label: number, values: readonly number[]): number[] {
  return values.map((value, t) => {
    const left = values.length - 1 - t;
    const next = values[t + 1] ?? 0;
    const advantage = next - value - 0.05 + (left === 0 ? label : 0) + label * 0.9 ** left;
    return Math.max(-1, Math.min(1, advantage));
  });
}

export interface Shop {
  readonly start: Start;
  readonly env: WebEnv;
  readonly judge: Scorer;
  readonly critic: Critic;
  readonly seed: number;
}

/** What is carried from one phase to the next. */
export interface Memory {
  failed: readonly BrowserEnvTask[];
  /** One success of each task. */
  readonly successes: Map<string, Trajectory>;
}

/** Tasks, attempts at them, labels, values, and then the policy: learned from what was sampled at its beginning. */
export async function runPhase(shop: Shop, way: Way, memory: Memory, phase: number): Promise<void> {
  const { start, env, critic, seed } = shop;
  const tasks = way.tasks === "uniform" ? await drawn(env, phase) : await made(shop, memory.failed, phase);
  const report = await start.evaluate({
    ...{ env: withTasks(env, tasks), split: "train", tasks: tasks.length, attempts, seed: seed * 100 + phase },
  });
  const labels = new Map<string, number>();
  const failed = new Map<string, BrowserEnvTask>();
  const fresh: Trajectory[] = [];
  const solved: [string, Trajectory][] = [];
  for (const { task, trajectories } of report.rollouts) {
    const trajectory = named(trajectories[0]!, `phase-${phase}`);
    const label = await labelOf(shop, way, trajectory);
    const data = task.data as BrowserEnvTask;
    labels.set(trajectory.id, label);
    fresh.push(trajectory);
    if (label === 0) failed.set(data.instruction, data);
    else solved.push([`${data.world} ${data.instruction}`, trajectory]);
  }
  await critic.learn(fresh, ({ id }) => labels.get(id)!);
  const credit = new Map<string, Credited>();
  for (const each of fresh)
    credit.set(each.id, credited(each, way.advantages(labels.get(each.id)!, await critic.values(each))));
  const again = way.replay === undefined ? [] : await replayed(shop, way, memory, way.replay, fresh, credit);
  const trajectories = [...fresh, ...again];
  await trainOffline({
    ...{ policy: start.policy, trajectories, algorithm: actor(way.loss, credit) },
    ...{ epochs: learning.epochs, batchSize: learning.batchSize, seed: seed * 100 + phase },
  });
  memory.failed = [...failed.values()];
  for (const [task, trajectory] of solved) memory.successes.set(task, trajectory);
}

export async function labelOf({ judge }: Pick<Shop, "judge">, { reward }: Pick<Way, "reward">, trajectory: Trajectory) {
  if (reward === "true") return trajectory.score.success ? 1 : 0;
  return (await judge.score({ trajectories: [trajectory] })) >= 0.5 ? 1 : 0;
}

export async function drawn(env: WebEnv, phase: number): Promise<BrowserEnvTask[]> {
  const first = 10_000 + phase * tasksPerPhase;
  const tasks = Array.from({ length: tasksPerPhase }, (_, index) => env.tasks.at("train", first + index));
  return (await Promise.all(tasks)).map(({ data }) => data);
}

/** From failed tasks: several like each, of which those are kept that can be done and are neither too easy nor too hard. */
async function made({ start, env, critic, seed }: Shop, failed: readonly BrowserEnvTask[], phase: number) {
  if (failed.length === 0) return drawn(env, phase);
  const rng = createRng(seed * 1000 + phase);
  const proposed = Array.from({ length: candidates * tasksPerPhase }, () =>
    alike(failed[rng.integer(failed.length)]!, rng),
  );
  const feasible = proposed.filter(isFeasible);
  if (feasible.length === 0) return drawn(env, phase);
  const asked = { env: withTasks(env, feasible), split: "train", tasks: feasible.length, limits: { turns: 1 } };
  const { rollouts } = await start.evaluate(asked);
  const kept: BrowserEnvTask[] = [];
  for (const { task, trajectories } of rollouts) {
    const value = (await critic.values(trajectories[0]!))[0] ?? 0;
    if (value >= learnable.from && value <= learnable.to) kept.push(task.data as BrowserEnvTask);
  }
  const chosen = kept.slice(0, tasksPerPhase);
  // where too few are left, the failed ones themselves
  return [...chosen, ...failed.slice(0, tasksPerPhase - chosen.length)];
}

interface Credited {
  readonly advantages_T: Float32Array;
  readonly mask_T: Uint8Array;
}

/** Turns that `isLearned` leaves out are masked. */
function credited(
  trajectory: Trajectory,
  advantages: readonly number[],
  isLearned = (_turn: number) => true,
): Credited {
  const advantages_T = new Float32Array(trajectory.mask_T.length);
  const mask_T = new Uint8Array(trajectory.mask_T.length);
  for (const [turn, { span }] of trajectory.turns.entries()) {
    if (!isLearned(turn)) continue;
    advantages_T.fill(advantages[turn] ?? 0, span.start, span.end);
    mask_T.set(trajectory.mask_T.subarray(span.start, span.end), span.start);
  }
  return { advantages_T, mask_T };
}

function actor(loss: Loss, credit: ReadonlyMap<string, Credited>): OfflineAlgorithm {
  const { examples, ...rest } = imitateOffline({ learningRate: learning.learningRate });
  return {
    ...rest,
    name: "web-rl",
    loss,
    examples: (groups) => examples(groups).map((rows) => rows.map((row) => ({ ...row, ...credit.get(row.id)! }))),
  };
}

/** Successes of earlier phases; of each the turns whose mean probability is within the window, no more than twice the fresh ones. */
async function replayed(
  { start, critic }: Shop,
  way: Way,
  { successes }: Memory,
  window: NonNullable<Way["replay"]>,
  fresh: readonly Trajectory[],
  credit: Map<string, Credited>,
): Promise<Trajectory[]> {
  let left = replayedPerFresh * fresh.reduce((sum, { turns }) => sum + turns.length, 0);
  const chosen: Trajectory[] = [];
  for (const trajectory of successes.values()) {
    if (left <= 0) break;
    const probable = await probabilities(start, trajectory);
    const within = (turn: number) => probable[turn]! > window.above && probable[turn]! <= window.upTo;
    const count = trajectory.turns.filter((_, turn) => within(turn)).length;
    if (count === 0) continue;
    left -= count;
    credit.set(trajectory.id, credited(trajectory, way.advantages(1, await critic.values(trajectory)), within));
    chosen.push(trajectory);
  }
  return chosen;
}

/** Of each turn, the geometric mean of what the policy gives its tokens now. */
async function probabilities({ policy }: Start, { tokens_T, mask_T, turns }: Trajectory): Promise<number[]> {
  const { logprobs_B_T } = await policy.engine.forward({ rows: [{ tokens: tokens_T, mask: mask_T }] });
  return turns.map(({ span }) => {
    const own = logprobs_B_T[0]!.subarray(span.start, span.end);
    return Math.exp(own.reduce((sum, logprob) => sum + logprob, 0) / own.length);
  });
}

function named(trajectory: Trajectory, phase: string): Trajectory {
  return { ...trajectory, id: `${phase}/${trajectory.id}`, rollout: `${phase}/${trajectory.rollout}` };
}
