import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { createLimiter } from "../limiter.ts";
import { knownLimits } from "../rollout/limits.ts";
import type { Policy, Rollout, RolloutOptions } from "../rollout/rollout.ts";
import { defaultConcurrency, type GroupOptions, runGroup } from "../rollout/run-group.ts";
import type { World } from "../rollout/world.ts";
import { type Failure, FailureTally, failuresText } from "../schema/failure.ts";
import { isInfrastructureStop } from "../schema/stop-reason.ts";
import { mean, sum } from "../statistics.ts";
import { seedOf } from "../task/seeds.ts";
import { clusteredInterval, type Interval } from "./interval.ts";
import { passAtKInterval, passHatKInterval, successInterval } from "./success-interval.ts";

export interface EvalOptions
  extends Pick<RolloutOptions, "limits" | "format" | "context" | "topP" | "topK" | "sandbox"> {
  /** "test" by default; others are out of distribution. */
  split: string;
  tasks: number;
  /** At each task. More than one gives pass@k and pass^k. */
  attempts: number;
  temperature: number;
  seed: number;
  /** Attempts under way at once, 2048 by default; or a limiter that is shared with others. */
  concurrency: GroupOptions["concurrency"];
  signal?: AbortSignal;
  onRollout?: (rollout: Rollout) => void;
}

export const knownEvalOptions: KnownOptions<EvalOptions> = {
  split: true,
  tasks: true,
  attempts: true,
  temperature: true,
  seed: true,
  concurrency: true,
  signal: true,
  onRollout: true,
  topP: true,
  topK: true,
  limits: true,
  format: true,
  sandbox: true,
  context: true,
};

export interface EvalReport {
  readonly split: string;
  readonly tasks: number;
  readonly attempts: number;
  /** Mean over all attempts (avg@k), with a 95 % interval that counts tasks, not attempts. */
  readonly success: Interval;
  readonly reward: Interval;
  /** By k, for k = 1, 2, 4, … up to the number of attempts; of tasks with at least k attempts without infrastructure failure. */
  readonly passAtK: Readonly<Record<number, Interval>>;
  readonly passHatK: Readonly<Record<number, Interval>>;
  /** The share of sound attempts at each task that succeeded, by task id: what two reports on the same tasks are compared by. */
  readonly successByTask: Readonly<Record<string, number>>;
  /** Attempts by how they ended. */
  readonly stops: Readonly<Record<string, number>>;
  /** Attempts that ended in infrastructure failures: in no figure but this one. */
  readonly infrastructureFailures: number;
  /** What they say, the most frequent first; attempts that were made again are counted too. */
  readonly failures: readonly Failure[];
  readonly turns: number;
  readonly sampledTokens: number;
  readonly rollouts: readonly Rollout[];
}

export const evalDefaults = {
  split: "test",
  tasks: 200,
  attempts: 1,
  temperature: 1,
  seed: 1,
  concurrency: defaultConcurrency as GroupOptions["concurrency"],
};

/**
 * How well a policy does on tasks it has not been trained on. The same options give the same report. Throws where every attempt
 * failed through no fault of the policy: that measures nothing.
 */
export async function evaluate<Data>(
  world: World<Data>,
  policy: Policy,
  options: Partial<EvalOptions> = {},
): Promise<EvalReport> {
  const report = await measure(world, policy, options);
  refuseLost(report);
  return report;
}

/** Throws where no attempt was played to its end, unless some were stopped. */
export function refuseLost({ rollouts, infrastructureFailures, split, stops, failures }: EvalReport): void {
  if (rollouts.length === 0 || infrastructureFailures < rollouts.length || stops.cancelled !== undefined) return;
  const made = failures.reduce((sum, { count }) => sum + count, 0);
  const again = made > rollouts.length ? ", also when made again" : "";
  throw new LudusError("everything-crashed", {
    got: `an evaluation on "${split}" of which all ${rollouts.length} attempts failed${again}: ${failuresText(failures)}`,
    expected: "attempts that are played to their end",
    hint: "Mend the environment, tool or engine that the text names; ludus env check plays some episodes.",
  });
}

/** The same, whatever failed. */
export async function measure<Data>(
  world: World<Data>,
  policy: Policy,
  options: Partial<EvalOptions> = {},
): Promise<EvalReport> {
  refuseUnknownOptions("evaluate", options, knownEvalOptions);
  refuseUnknownOptions("limits of evaluate", options.limits, knownLimits);
  const { split, tasks, attempts, seed, concurrency, ...rest } = { ...evalDefaults, ...options };
  const tally = new FailureTally("evaluation");
  const onRollout = (rollout: Rollout) => {
    tally.add(rollout);
    options.onRollout?.(rollout);
  };
  const count = Math.min(tasks, world.tasks.size(split));
  if (!(Number.isInteger(tasks) && tasks >= 1)) {
    throw new LudusError("bad-eval", { got: `${tasks} tasks`, expected: "a whole number of at least 1" });
  }
  const limit = typeof concurrency === "number" ? createLimiter(concurrency) : concurrency;
  const groups = await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const task = await world.tasks.at(split, index);
      const id = `eval-${split}/${index}`;
      const own = { id, seed: seedOf(seed, id, index), size: attempts, concurrency: limit };
      return runGroup(world, task, policy, { ...rest, ...own, onRollout });
    }),
  );
  return summarise(
    groups.map(({ rollouts }) => rollouts),
    { split, attempts, failures: tally.list() },
  );
}

function summarise(
  rollouts_P_G: readonly (readonly Rollout[])[],
  { split, attempts, failures }: Pick<EvalReport, "split" | "attempts" | "failures">,
): EvalReport {
  const sound_P_G = rollouts_P_G
    .map((group) => group.filter(({ stop }) => !isInfrastructureStop(stop)))
    .filter((group) => group.length > 0);
  const rollouts = rollouts_P_G.flat();
  const sound = sound_P_G.flat();
  const success_P_G = sound_P_G.map((group) => group.map((rollout) => (isSuccess(rollout) ? 1 : 0)));
  const rates = (interval: typeof passAtKInterval) =>
    Object.fromEntries(
      powersUpTo(attempts).flatMap((k) => {
        // a task of which attempts ended in infrastructure failures still tells of fewer attempts
        const enough = success_P_G.filter(({ length }) => length >= k);
        return enough.length === 0 ? [] : [[k, interval(enough, k)]];
      }),
    );
  return {
    split,
    tasks: rollouts_P_G.length,
    attempts,
    rollouts,
    infrastructureFailures: rollouts.length - sound.length,
    failures,
    success: successInterval(success_P_G),
    reward: clusteredInterval(sound_P_G.map((group) => group.map(rewardOf))),
    passAtK: rates(passAtKInterval),
    passHatK: rates(passHatKInterval),
    successByTask: Object.fromEntries(sound_P_G.map(([{ task }], p) => [task.id, mean(success_P_G[p])])),
    stops: Object.fromEntries(
      [...Map.groupBy(rollouts, ({ stop }) => stop)].map(([stop, { length }]) => [stop, length]),
    ),
    turns: mean(sound.map(({ trajectories }) => sum(trajectories.map(({ turns }) => turns.length)))),
    sampledTokens: mean(
      sound.map(({ trajectories }) => sum(trajectories.map(({ mask_T }) => mask_T.reduce((a, b) => a + b, 0)))),
    ),
  };
}

/** Of the first role: with several, each has a score of its own. */
export function isSuccess({ trajectories }: Rollout): boolean {
  return trajectories[0]?.score.success ?? false;
}

function rewardOf({ trajectories }: Rollout): number {
  return trajectories[0]?.score.total ?? 0;
}

function powersUpTo(limit: number): number[] {
  return Array.from({ length: Math.floor(Math.log2(limit)) + 1 }, (_, i) => 2 ** i);
}
