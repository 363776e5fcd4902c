import type { Env } from "../env/env.ts";
import type { EvalOptions, EvalReport } from "../eval/evaluate.ts";
import type { LearningPolicy, MakePolicy } from "../train/learning-policy.ts";
import type { TrainConfig, TrainResult } from "../train/train.ts";
import type { WarmStart } from "../train/warm-start.ts";

/**
 * A published system in small: trains its method and what it is compared with, from scratch, in one run.
 *
 *     export const masked: Recipe = {
 *       system: "masked",
 *       title: "Masks",
 *       claim: "Without the mask a search agent does not learn",
 *       measures: { success: "answered rightly" },
 *       compare: [{ method: "masked", baseline: "unmasked", measure: "success", want: "more" }],
 *       async run(lab) {
 *         const start = await lab.begin({ env, policy: fromScratch({ size: "tiny" }), warmStart: imitate() });
 *         for (const [arm, algorithm] of arms) {
 *           await start.train(arm, { algorithm, steps: 60 });
 *           lab.measure(arm, { success: (await start.evaluate()).success.mean });
 *         }
 *       },
 *     };
 */
export interface Recipe {
  readonly system: string;
  readonly title: string;
  /** What must show, in one sentence. */
  readonly claim: string;
  /** What is measured, in the table's order, with its heading. */
  readonly measures: Readonly<Record<string, string>>;
  /** The first is the claim; the others are further statements, each reported to hold or not. */
  readonly compare: readonly [Comparison, ...Comparison[]];
  /** Everything for one seed. */
  run(lab: Lab): Promise<void>;
}

/** That one arm has more or less of something than another: it holds when their 95 % intervals over seeds do not overlap. */
export interface Comparison {
  readonly method: string;
  readonly baseline: string;
  readonly measure: string;
  readonly want: "more" | "less";
}

/** Where a recipe works, one for each seed. */
export interface Lab {
  readonly seed: number;
  /** Weights that arms have in common at their start. The lab closes the engine. */
  begin<Data, State>(options: BeginOptions<Data, State>): Promise<Beginning<Data, State>>;
  /** What an arm came to. More measures of the same arm may follow. */
  measure(arm: string, measures: Readonly<Record<string, number>>): void;
  /** How something went over an arm's steps. */
  curve(arm: string, name: string, values: readonly number[]): void;
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
  /** The policy as it is now, on 300 held-out tasks unless told otherwise. */
  evaluate(options?: Partial<EvalOptions> & { env?: Env<Data, State> }): Promise<EvalReport>;
}

/** As for `train`; environment and policy are the beginning's where absent, and nothing is evaluated on the way. */
export type ArmConfig<Data, State> = Omit<TrainConfig<Data>, "env" | "policy" | "signal"> & {
  env?: Env<Data, State>;
  policy?: LearningPolicy;
};

export interface Trained extends TrainResult {
  /** Metrics of each step, those of a warm start included. */
  readonly history: readonly Readonly<Record<string, number>>[];
}
