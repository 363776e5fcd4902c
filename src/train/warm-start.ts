import { defined } from "../defined.ts";
import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { createLimiter } from "../limiter.ts";
import { imitation } from "../loss/imitation.ts";
import type { Loss } from "../loss/loss.ts";
import { createRng } from "../random.ts";
import type { RenderContext, Rollout } from "../rollout/rollout.ts";
import { demonstrate } from "../rollout/run-rollout.ts";
import type { World } from "../rollout/world.ts";
import { FailureTally, failuresText } from "../schema/failure.ts";
import { metric } from "../schema/metric-names.ts";
import { isInfrastructureStop } from "../schema/stop-reason.ts";
import { makeTrainBatch } from "../schema/train-batch.ts";
import type { Trajectory } from "../schema/trajectory.ts";
import { seedOf } from "../task/seeds.ts";
import { type LearnRow, plainRow } from "./learn-row.ts";
import { cosine, type Schedule } from "./schedule.ts";

export interface ImitateOptions {
  /** Demonstrations by the environment's expert: how many. Or trajectories that are already there. */
  demonstrations: number | readonly Trajectory[];
  /**
   * Share of turns in which the expert says something at random: weak demonstrations leave something to learn. Several shares are taken in turn,
   * one a demonstration: with `[0, 1]` every other demonstration is random from beginning to end, and the others are clean. Where an episode
   * has many turns, that teaches more than as much noise in all of them.
   */
  noise: number | readonly number[];
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
  /**
   * A folder of finished imitations: one with the same policy, demonstrations and options is loaded instead of made again, with
   * the same bits. None by default; `ludus train` uses .warm-starts beside the run unless this is `false`. Not with a `loss` of your own,
   * which nothing tells from another.
   */
  cache: string | false | undefined;
}

const knownImitateOptions: KnownOptions<ImitateOptions> = {
  demonstrations: true,
  cache: true,
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
  /** Where finished ones are kept; `false` where they must not be. */
  readonly cache?: string | false;
  /** Called once, and again when a run is resumed: the same seed gives the same rows. */
  prepare<Data>(
    env: World<Data>,
    renderContext: RenderContext,
    seed: number,
    learners: readonly string[],
    /** Told of every demonstration that is played, failed ones included. */
    onRollout?: (rollout: Rollout) => void,
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
  cache: undefined,
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
  checkNoise(chosen.noise);
  const isOwnLoss = chosen.loss !== defaults.loss;
  if (isOwnLoss && typeof chosen.cache === "string") {
    const expected = "one of them: two losses of your own could not be told apart";
    throw new LudusError("bad-config", { got: "`cache` and `loss`", expected });
  }
  return {
    ...defined({ cache: isOwnLoss ? false : chosen.cache }),
    name: "imitate",
    steps: chosen.steps,
    learningRate: chosen.learningRate,
    loss: chosen.loss,
    async prepare(env, renderContext, seed, learners, onRollout) {
      const tally = new FailureTally("demonstration");
      const all = await demonstrations(env, renderContext, seed, chosen, (rollout) => {
        tally.add(rollout);
        onRollout?.(rollout);
      });
      const shown = all.filter(({ stop, weights }) => !isInfrastructureStop(stop) && learners.includes(weights));
      const kept = shown.filter((each) => each.mask_T.includes(1) && chosen.filter(each));
      if (kept.length === 0) {
        throw noDemonstrations(env.name, { all: all.length, sound: shown.length }, tally);
      }
      const success = shown.filter(succeeded).length / shown.length;
      return {
        metrics: { [metric.expertSuccess]: success, "imitate/demonstrations": kept.length },
        rows: batches(kept, chosen, seed),
      };
    },
  };
}

function checkNoise(noise: ImitateOptions["noise"]): void {
  const levels = typeof noise === "number" ? [noise] : noise;
  if (levels.length > 0 && levels.every((level) => level >= 0 && level <= 1)) return;
  throw new LudusError("bad-option", {
    got: `imitate({ noise: ${JSON.stringify(noise)} })`,
    expected: "a share from 0 to 1, or several of them",
  });
}

function noDemonstrations(
  env: string,
  { all, sound }: { all: number; sound: number },
  tally: FailureTally,
): LudusError {
  const failures = tally.list();
  if (failures.length === 0) {
    return new LudusError("no-demonstrations", {
      got: `${all} demonstrations of ${env}, ${sound} of them sound, none kept`,
      expected: "at least one to imitate",
      hint: "Does the environment have an expert? Does `filter` ask too much?",
    });
  }
  return new LudusError(sound === 0 ? "everything-crashed" : "no-demonstrations", {
    got: `${tally.attempts} demonstrations of ${env}, ${sound} of them sound, none kept: ${failuresText(failures)}`,
    expected: "at least one to imitate",
    hint: "Mend the environment, tool or expert that the text names; ludus env check plays the expert.",
  });
}

async function demonstrations<Data>(
  env: World<Data>,
  renderContext: RenderContext,
  seed: number,
  { demonstrations: given, noise }: ImitateOptions,
  onRollout: (rollout: Rollout) => void,
): Promise<readonly Trajectory[]> {
  if (typeof given !== "number") return given;
  const limit = createLimiter(concurrentDemonstrations);
  const levels = typeof noise === "number" ? [noise] : noise;
  const show = async (index: number) => {
    // training tasks from far behind, so that learning meets others first
    const task = await env.tasks.at("train", 1_000_000 + index);
    const rollout = await demonstrate(env, task, renderContext, {
      id: `demonstration/${index}`,
      seed: seedOf(seed, "show", index),
      noise: levels[index % levels.length],
    });
    onRollout(rollout);
    return rollout;
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
