import { LudusError } from "../../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import type { Trajectory } from "../../schema/trajectory.ts";
import { RecordedRollout, type RolloutEnd } from "./recorder.ts";
import type { ServedModel } from "./served-model.ts";

export interface RecordOptions {
  /** Is given what a rollout left, when its reward comes in. Until then, and without it, `take` gives it. */
  onRollout?: (trajectories: readonly Trajectory[]) => void;
  /** Rollouts that are kept at most; the oldest is forgotten. */
  maxRollouts?: number;
}

const knownRecordOptions: KnownOptions<RecordOptions> = { onRollout: true, maxRollouts: true };

/** Rollouts by the name that clients give them, in a header or in the address. */
export class RecordedRollouts {
  readonly #model: ServedModel;
  readonly #options: RecordOptions;
  readonly #open = new Map<string, RecordedRollout>();
  readonly #done = new Map<string, readonly Trajectory[]>();

  constructor(model: ServedModel, options: RecordOptions = {}) {
    refuseUnknownOptions("record", options, knownRecordOptions);
    this.#model = model;
    this.#options = options;
  }

  open(id: string): RecordedRollout {
    const known = this.#open.get(id);
    if (known !== undefined) return known;
    const rollout = new RecordedRollout(id, this.#model);
    this.#open.set(id, rollout);
    forgetOldest(this.#open, this.#options.maxRollouts ?? 10_000);
    return rollout;
  }

  /** The reward has come: the rollout is over. */
  end(id: string, end: Omit<RolloutEnd, "taskId"> & { taskId?: string | undefined }): readonly Trajectory[] {
    const rollout = this.#open.get(id);
    if (rollout === undefined || rollout.calls === 0) {
      throw new LudusError("no-such-rollout", {
        got: `"${id}"`,
        expected: "a rollout that has called the model",
        hint: "Calls name theirs in the header x-ludus-rollout, or in the address: /rollouts/<id>/v1.",
      });
    }
    const trajectories = rollout.trajectories({ ...end, taskId: end.taskId ?? id });
    this.#open.delete(id);
    this.#done.set(id, trajectories);
    forgetOldest(this.#done, this.#options.maxRollouts ?? 10_000);
    this.#options.onRollout?.(trajectories);
    return trajectories;
  }

  /** No longer kept here; whoever has it still does. */
  forget(id: string): void {
    this.#open.delete(id);
  }

  /** What an ended rollout left. */
  read(id: string): readonly Trajectory[] | undefined {
    return this.#done.get(id);
  }

  /** The same, which is forgotten here. */
  take(id: string): readonly Trajectory[] | undefined {
    const trajectories = this.#done.get(id);
    this.#done.delete(id);
    return trajectories;
  }
}

function forgetOldest(map: Map<string, unknown>, most: number): void {
  if (map.size > most) map.delete(map.keys().next().value!);
}
