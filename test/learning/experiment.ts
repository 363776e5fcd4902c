import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Env } from "../../src/env/env.ts";
import {
  type Algorithm,
  evaluate,
  fromScratch,
  type ImitateOptions,
  imitate,
  type LearningPolicy,
  metric,
  train,
} from "../../src/index.ts";
import { withoutActionMask } from "../../src/recipe/ablations.ts";

/** One training, from scratch, of one seed. */
export interface Outcome {
  readonly seed: number;
  readonly before: number;
  readonly after: number;
  readonly rollouts: number;
  readonly seconds: number;
  /** Mean success of the last five steps, on training tasks. */
  readonly training: number;
}

export interface Experiment {
  title: string;
  /** What the table is about. */
  question: string;
  env: Env;
  evalSplit?: string;
  warmStart: Partial<ImitateOptions>;
  steps: number;
  tasksPerStep: number;
  variants: readonly Variant[];
  /** What the first variant must reach on held-out tasks. */
  atLeast: { after?: number; gain?: number };
}

/** What is compared: an algorithm, and what else differs from the experiment. */
export interface Variant {
  name: string;
  algorithm: Algorithm;
  tasksPerStep?: number;
  steps?: number;
  warmStart?: false;
  /** Gradients also at tokens the policy only read. */
  unmasked?: true;
}

/** Every variant from the very same warm start. */
export async function compare(experiment: Experiment, seed: number): Promise<Map<string, Outcome>> {
  const outcomes = new Map<string, Outcome>();
  const { env, warmStart, variants } = experiment;
  const policy = await fromScratch({ size: "tiny", tokenizer: 320, valueHead: true })(env, seed);
  const folder = mkdtempSync(join(tmpdir(), "ludus-learning-"));
  const [untrained, warm] = [join(folder, "untrained"), join(folder, "warm")];
  try {
    await policy.engine.save(untrained);
    const none = { algorithm: variants[0].algorithm, steps: 0, eval: { tasks: 0 } };
    const warming = await train({ env, seed, policy, warmStart: imitate(warmStart), ...none });
    await policy.engine.save(warm);
    for (const variant of variants) {
      await policy.engine.load(variant.warmStart === false ? untrained : warm);
      const { algorithm } = variant;
      const ablated = variant.unmasked ? withoutActionMask(policy, algorithm) : { policy, algorithm };
      const extra = variant.warmStart === false ? 0 : warming.seconds;
      outcomes.set(variant.name, await learn(experiment, { ...variant, ...ablated }, seed, extra));
    }
    return outcomes;
  } finally {
    await policy.engine.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function learn(
  { env, steps, tasksPerStep, evalSplit = "test" }: Experiment,
  { policy, ...variant }: Variant & { policy: LearningPolicy },
  seed: number,
  warmingSeconds: number,
): Promise<Outcome> {
  const successes: number[] = [];
  let rollouts = 0;
  const groups = variant.tasksPerStep ?? tasksPerStep;
  const held = { tasks: 300, seed: 99, split: evalSplit };
  const before = await evaluate(env, policy, held);
  const result = await train({
    env,
    seed,
    policy,
    algorithm: variant.algorithm,
    steps: variant.steps ?? steps,
    tasksPerStep: groups,
    eval: held,
    monitors: [
      {
        name: "successes",
        record(event) {
          if (event.type !== "step-end") return;
          successes.push(event.metrics[metric.success] ?? 0);
          rollouts += groups * variant.algorithm.groupSize;
        },
      },
    ],
  });
  const last = successes.slice(-5);
  return {
    seed,
    before: before.success.mean,
    after: result.after!.success.mean,
    rollouts,
    seconds: warmingSeconds + result.seconds,
    training: last.reduce((a, b) => a + b, 0) / last.length,
  };
}
