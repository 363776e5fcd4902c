import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { createLimiter } from "../limiter.ts";
import { imitation } from "../loss/imitation.ts";
import type { Loss } from "../loss/loss.ts";
import { createRng } from "../random.ts";
import type { RenderContext } from "../rollout/rollout.ts";
import { demonstrate } from "../rollout/run-rollout.ts";
import type { World } from "../rollout/world.ts";
import { isInfrastructureStop } from "../schema/stop-reason.ts";
import { makeTrainBatch } from "../schema/train-batch.ts";
import type { Trajectory } from "../schema/trajectory.ts";
import { seedOf } from "../task/seeds.ts";
import { type LearnRow, plainRow } from "./learn-row.ts";
import { cosine, type Schedule } from "./schedule.ts";

export interface ImitateOptions {
  /** Demonstrations by the environment's expert: how many. Or trajectories that are already there. */
  demonstrations: number | readonly Trajectory[];
  /** Share of turns in which the expert says something at random: weak demonstrations leave something to learn. */
  noise: number;
  /** Which demonstrations are learned from; all by default. `succeeded` takes those that solved their task. */
  filter: (demonstration: Trajectory) => boolean;
  /**
   * Further rows to learn from, such as plain replies where no tool fits (Agent-FLAN's negatives) or general text, and the
   * share of each batch they make up (AgentTuning's mixing ratio, counted the other way round).
   */
  mix: { readonly rows: readonly Trajectory[]; readonly share: number } | undefined;
  steps: number;
  /** Demonstrations a step. */
  batchSize: number;
  learningRate: Schedule;
  loss: Loss;
}

const knownImitateOptions: KnownOptions<ImitateOptions> = {
  demonstrations: true,
  noise: true,
  filter: true,
  mix: true,
  steps: true,
  batchSize: true,
  learningRate: true,
  loss: true,
};

/** What happens before learning from experience: a policy that never says anything useful is never rewarded. */
export interface WarmStart {
  readonly name: string;
  readonly steps: number;
  readonly learningRate: Schedule;
  readonly loss: Loss;
  /** Called once, and again when a run is resumed: the same seed gives the same rows. */
  prepare<Data>(
    env: World<Data>,
    renderContext: RenderContext,
    seed: number,
    learners: readonly string[],
  ): Promise<WarmStartBatches>;
}

export interface WarmStartBatches {
  readonly metrics: Readonly<Record<string, number>>;
  /** The rows of a step. */
  rows(step: number): readonly LearnRow[];
}

const defaults: ImitateOptions = {
  demonstrations: 1000,
  noise: 0,
  filter: () => true,
  mix: undefined,
  steps: 200,
  batchSize: 64,
  learningRate: cosine(2e-3, 0.1),
  loss: imitation({ aggregation: "token-mean" }),
};

const concurrentDemonstrations = 256;

/** For `filter`: demonstrations that solved their task. */
export function succeeded({ score }: Trajectory): boolean {
  return score.success;
}

/** Imitation of demonstrations: the loss is on what the demonstrator said, never on what it read. */
export function imitate(options: Partial<ImitateOptions> = {}): WarmStart {
  refuseUnknownOptions("imitate", options, knownImitateOptions);
  const chosen = { ...defaults, ...options };
  if (chosen.mix?.rows.length === 0) {
    throw new LudusError("bad-config", { got: "a mix without rows", expected: "at least one, or no mix" });
  }
  return {
    name: "imitate",
    steps: chosen.steps,
    learningRate: chosen.learningRate,
    loss: chosen.loss,
    async prepare(env, renderContext, seed, learners) {
      const all = await demonstrations(env, renderContext, seed, chosen);
      const shown = all.filter(({ stop, weights }) => !isInfrastructureStop(stop) && learners.includes(weights));
      const kept = shown.filter((each) => each.mask_T.includes(1) && chosen.filter(each));
      if (kept.length === 0) {
        throw new LudusError("no-demonstrations", {
          got: `${all.length} demonstrations of ${env.name}, ${shown.length} of them sound, none kept`,
          expected: "at least one to imitate",
          hint: "Does the environment have an expert? Does `filter` ask too much?",
        });
      }
      const success = shown.filter(succeeded).length / shown.length;
      return {
        metrics: { "imitate/expert-success": success, "imitate/demonstrations": kept.length },
        rows: batches(kept, chosen, seed),
      };
    },
  };
}

async function demonstrations<Data>(
  env: World<Data>,
  renderContext: RenderContext,
  seed: number,
  { demonstrations: given, noise }: ImitateOptions,
): Promise<readonly Trajectory[]> {
  if (typeof given !== "number") return given;
  const limit = createLimiter(concurrentDemonstrations);
  const show = async (index: number) => {
    // training tasks from far behind, so that learning meets others first
    const task = await env.tasks.at("train", 1_000_000 + index);
    return demonstrate(env, task, renderContext, {
      id: `demonstration/${index}`,
      seed: seedOf(seed, "show", index),
      noise,
    });
  };
  const rollouts = await Promise.all(Array.from({ length: given }, (_, index) => limit(() => show(index))));
  return rollouts.flatMap(({ trajectories }) => trajectories);
}

function batches(kept: readonly Trajectory[], { batchSize, mix }: ImitateOptions, seed: number) {
  return (step: number): readonly LearnRow[] => {
    const rng = createRng(seedOf(seed, "imitate", step));
    const draw = () => {
      const from = mix !== undefined && rng.next() < mix.share ? mix.rows : kept;
      return from[rng.integer(from.length)];
    };
    const rows = Array.from({ length: batchSize }, (_, i) => plainRow(draw(), `${i}`));
    makeTrainBatch(rows);
    return rows;
  };
}
