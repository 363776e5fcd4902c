import type { Env } from "../env/env.ts";
import type { EvalOptions, EvalReport } from "../eval/evaluate.ts";
import type { LearningPolicy, MakePolicy } from "../train/learning-policy.ts";
import type { TrainConfig, TrainResult } from "../train/train.ts";
import type { WarmStart } from "../train/warm-start.ts";
import type { Claim } from "./claim.ts";

/**
 * A published system in small: trains its method and what it is compared with, from scratch, in one run.
 *
 *     export const masked: Recipe = {
 *       system: "masked",
 *       title: "Masks",
 *       measures: { success: "answered rightly" },
 *       claims,
 *       async run(lab) {
 *         const start = await lab.begin({ env, policy: fromScratch({ size: "tiny" }), warmStart: imitate() });
 *         for (const [name, algorithm] of arms) {
 *           await lab.arm(name, async (arm) => {
 *             await start.train(name, { algorithm, steps: 60 });
 *             arm.measure({ success: await start.evaluate() });
 *           });
 *         }
 *       },
 *     };
 */
export interface Recipe {
  readonly system: string;
  readonly title: string;
  /** What is measured, in the table's order, with its heading. */
  readonly measures: Readonly<Record<string, string>>;
  /** What is published, each reported to hold or not. */
  readonly claims: readonly Claim[];
  /** Everything for one seed: a beginning or several, and the arms that start there. Arms do not depend on each other. */
  run(lab: Lab): Promise<void>;
}

/** Where a recipe works, one for each seed. */
export interface Lab {
  readonly seed: number;
  /** Only arms that a claim compares are run: a recipe may leave out beginnings that no such arm starts from. */
  readonly isClaimedOnly: boolean;
  /** Aborted where the recipe is stopped. */
  readonly signal: AbortSignal;
  /** Weights that arms have in common at their start. The lab closes the engine. */
  begin<Data, State>(options: BeginOptions<Data, State>): Promise<Beginning<Data, State>>;
  /** One arm. It is kept once `body` has ended; one that is kept already, or that another process makes, is not run. */
  arm(name: string, body: (arm: Arm) => Promise<void>): Promise<void>;
}

export interface Arm {
  /** What it came to. Of a report its success is taken, task by task; more measures may follow. */
  measure(measures: Readonly<Record<string, number | EvalReport>>): void;
  /** What else the same training came to, kept as an arm of its own: another way to use the policy, say. */
  also(arm: string, measures: Readonly<Record<string, number | EvalReport>>): void;
  /** How something went over its steps. */
  curve(name: string, values: readonly number[]): void;
}

export interface BeginOptions<Data, State> {
  env: Env<Data, State>;
  policy: MakePolicy;
  warmStart?: WarmStart;
}

export interface Beginning<Data = unknown, State = unknown> {
  readonly policy: LearningPolicy;
  /** Seconds of the warm start. */
  readonly seconds: number;
  /** Makes the weights what they were at the beginning. */
  restore(): Promise<void>;
  /** Trains from the beginning's weights, wherever the policy is now; it stays as trained until the next arm. */
  train(arm: string, config: ArmConfig<Data, State>): Promise<Trained>;
  /** Trains from the weights as they are now: a further stage of the arm that `train` began. */
  trainOn(arm: string, config: ArmConfig<Data, State>): Promise<Trained>;
  /** The policy as it is now, on 300 held-out tasks unless told otherwise. */
  evaluate(options?: Partial<EvalOptions> & { env?: Env<Data, State> }): Promise<EvalReport>;
}

/**
 * As for `train`; environment and policy are the beginning's where absent, and nothing is evaluated on the way. A `signal` ends the
 * training early: the steps until then are the arm's.
 */
export type ArmConfig<Data, State> = Omit<TrainConfig<Data>, "env" | "policy"> & {
  env?: Env<Data, State>;
  policy?: LearningPolicy;
};

export interface Trained extends TrainResult {
  /** Metrics of each step, those of a warm start included. */
  readonly history: readonly Readonly<Record<string, number>>[];
}
