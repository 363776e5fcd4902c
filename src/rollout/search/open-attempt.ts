import type { TurnAnnotations } from "../../schema/annotations.ts";
import type { InfrastructureStop, StopReason } from "../../schema/stop-reason.ts";
import type { Task } from "../../schema/task.ts";
import type { Trajectory } from "../../schema/trajectory.ts";
import type { PlayedRollout } from "../rollout.ts";
import type { Utterance } from "../speaker.ts";

/**
 * An attempt that somebody else takes turn by turn, and that can be copied at any turn. Every one, copies included, must be `played()` and
 * scored, which closes it; one that has not ended is only closed.
 *
 *     const attempt = await world.open(task, policy, { id: "a", seed: 1 });
 *     while (attempt.stop === undefined) {
 *       const said = await attempt.propose(7);
 *       if (said !== undefined) await attempt.take(said);
 *     }
 *     const { trajectories } = await attempt.played().score();
 */
export interface OpenAttempt<Data = unknown> {
  readonly id: string;
  readonly task: Task<Data>;
  /** How it ended; undefined as long as the policy has to speak. */
  readonly stop: StopReason | undefined;
  /** Turns taken so far. */
  readonly turns: number;
  /** What the policy would say now; nothing happens yet. Undefined where the attempt ended instead: engine, deadline, cancelled. */
  propose(seed: number): Promise<Utterance | undefined>;
  /** Says it, with all that follows. */
  take(said: Utterance): Promise<void>;
  /** Recorded with the last turn that was taken. */
  annotate(annotations: TurnAnnotations): void;
  /** Tokens and turns so far, without a score. */
  soFar(): readonly Trajectory[];
  /** The same attempt once more, with chance of its own. Throws `not-copyable` where the environment cannot be copied. */
  copy(options: { readonly id: string; readonly seed: number }): Promise<OpenAttempt<Data>>;
  /** Ends it through no fault of the policy. */
  fail(stop: InfrastructureStop, failure: string): void;
  played(): PlayedRollout<Data>;
}
