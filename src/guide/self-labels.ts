import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { createLimiter } from "../limiter.ts";
import type { Policy } from "../rollout/rollout.ts";
import { runRollout } from "../rollout/run-rollout.ts";
import type { World } from "../rollout/world.ts";
import { isInfrastructureStop } from "../schema/stop-reason.ts";
import type { Task } from "../schema/task.ts";
import type { Trajectory } from "../schema/trajectory.ts";
import { seedOf } from "../task/seeds.ts";

export interface SelfLabelsOptions<Data = unknown> {
  world: World<Data>;
  /** Who answers. */
  policy: Policy;
  /** Answers to each task. */
  samples: number;
  /** Shares of the most frequent answer that are kept, both included: others are too easy, or their majority is chance. */
  keep: readonly [least: number, most: number];
  /** The answer of an attempt; nothing where it gave none. What was said last, without white space, by default. */
  answerOf: (trajectory: Trajectory) => string | undefined;
  seed: number;
  concurrency: number;
  signal?: AbortSignal;
}

const knownSelfLabelsOptions: KnownOptions<SelfLabelsOptions> = {
  world: true,
  policy: true,
  samples: true,
  keep: true,
  answerOf: true,
  seed: true,
  concurrency: true,
  signal: true,
};

const defaults = { samples: 9, keep: [0.3, 0.8], answerOf: lastWords, seed: 0, concurrency: 64 } as const;

/** What a policy says of a task when it is asked several times. */
export interface SelfLabel<Data = unknown> {
  readonly task: Task<Data>;
  /** The most frequent answer, the first of several; undefined where there was none. */
  readonly label?: string;
  /** Its share of all samples. */
  readonly share: number;
  readonly isKept: boolean;
}

/**
 * Labels by majority: a policy answers each task several times, and its most frequent answer is taken for the right one (R-Zero).
 *
 *     const labels = await selfLabels(tasks, { world: sums(), policy });
 *     const learned = labels.filter(({ isKept }) => isKept);
 *
 * Attempts that failed through no fault of the policy do not count; a task all of whose attempts did is an error.
 */
export async function selfLabels<Data>(
  tasks: readonly Task<Data>[],
  options: Pick<SelfLabelsOptions<Data>, "world" | "policy"> & Partial<SelfLabelsOptions<Data>>,
): Promise<SelfLabel<Data>[]> {
  refuseUnknownOptions<Partial<SelfLabelsOptions<Data>>>("selfLabels", options, knownSelfLabelsOptions);
  const { world, policy, samples, keep, answerOf, seed, concurrency, signal } = { ...defaults, ...options };
  const [least, most] = keep;
  if (!(Number.isInteger(samples) && samples >= 1)) refuse(`samples ${samples}`, "a whole number of at least 1");
  if (!(least >= 0 && least <= most && most <= 1))
    refuse(`keep ${least} to ${most}`, "two shares, the lower one first");
  const limit = createLimiter(concurrency);
  const ask = async (task: Task<Data>, at: number): Promise<SelfLabel<Data>> => {
    const attempts = Array.from({ length: samples }, (_, i) =>
      limit(() => {
        const id = `label/${seed}/${at}/${i}`;
        const own = { id, seed: seedOf(seed, `label/${at}`, i), ...(signal === undefined ? {} : { signal }) };
        return runRollout(world, task, policy, own);
      }),
    );
    const sound = (await Promise.all(attempts)).filter(({ stop }) => !isInfrastructureStop(stop));
    signal?.throwIfAborted();
    if (sound.length === 0) throw noAnswers(task, samples);
    const { label, share } = majority(sound.map(({ trajectories }) => trajectories[0] && answerOf(trajectories[0])));
    const isKept = label !== undefined && share >= least && share <= most;
    return { task, share, isKept, ...(label === undefined ? {} : { label }) };
  };
  return Promise.all(tasks.map(ask));
}

/** The most frequent answer, the first of several, and its share of all; those that answered nothing count in the share. */
export function majority(answers: readonly (string | undefined)[]): { label?: string; share: number } {
  const counts = new Map<string, number>();
  for (const answer of answers) if (answer !== undefined) counts.set(answer, (counts.get(answer) ?? 0) + 1);
  let best: { label?: string; count: number } = { count: 0 };
  for (const [label, count] of counts) if (count > best.count) best = { label, count };
  const share = answers.length === 0 ? 0 : best.count / answers.length;
  return best.label === undefined ? { share } : { label: best.label, share };
}

function lastWords({ turns }: Trajectory): string | undefined {
  const said = turns.at(-1)?.text.trim();
  return said === "" ? undefined : said;
}

function refuse(got: string, expected: string): never {
  throw new LudusError("bad-option", { got: `${got} of selfLabels`, expected });
}

function noAnswers({ id }: Task, samples: number): LudusError {
  return new LudusError("no-answers", {
    got: `${samples} attempts at ${id} of which all failed`,
    expected: "one at least that was played to its end",
    hint: "The environment or the engine failed, not the policy: run one attempt with runRollout and read its failure.",
  });
}
