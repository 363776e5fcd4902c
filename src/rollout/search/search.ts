import { errorStack, failureText, LudusError } from "../../errors.ts";
import type { StopReason } from "../../schema/stop-reason.ts";
import { isInfrastructureStop } from "../../schema/stop-reason.ts";
import type { PlayedRollout, Rollout } from "../rollout.ts";
import type { OpenAttempt } from "./open-attempt.ts";

/** A way to choose what is said, by trying more than one thing: `mcts()`, `bestAttempt()`, `beamSearch()`, `selfConsistency()`. */
export interface Search {
  readonly name: string;
  /** Plays one attempt of a task. Everything it opened is closed, but for what it returns. */
  play<Data>(begin: Begin<Data>, options: SearchOptions): Promise<PlayedRollout<Data>>;
}

/** Begins the task once more. */
export type Begin<Data> = (options: { readonly id: string; readonly seed: number }) => Promise<OpenAttempt<Data>>;

export interface SearchOptions {
  readonly id: string;
  readonly seed: number;
}

/**
 * What an attempt is worth to a search. Attempts that have ended have their score; those that have not have tokens and turns alone. The score
 * of an environment may know the right answer: at test time give a learned scorer, unless whoever acts sees the score too.
 */
export type SearchValue = (attempt: SearchedAttempt) => number | Promise<number>;

export interface SearchedAttempt extends Pick<Rollout, "trajectories"> {
  /** Undefined where it has not ended. */
  readonly stop: StopReason | undefined;
}

/** What the environment gave. */
export function scoredTotal({ trajectories }: Pick<Rollout, "trajectories">): number {
  return trajectories[0]?.score.total ?? 0;
}

/** How probable the policy finds what it said: the sum of its log-probabilities. */
export function likelihood({ trajectories }: Pick<Rollout, "trajectories">): number {
  return trajectories.reduce((all, { logprobs_T }) => all + logprobs_T.reduce((sum, logprob) => sum + logprob, 0), 0);
}

/** The value of an attempt that has ended; undefined where that was no fault of the policy. */
export async function finalValue(played: PlayedRollout, value: SearchValue): Promise<number | undefined> {
  const rollout = await played.score();
  return isInfrastructureStop(rollout.stop) ? undefined : checked(await value(rollout));
}

export async function valueSoFar(attempt: OpenAttempt, value: SearchValue): Promise<number | undefined> {
  if (attempt.stop !== undefined) return finalValue(attempt.played(), value);
  return checked(await value({ trajectories: attempt.soFar(), stop: undefined }));
}

function checked(value: number): number {
  if (Number.isFinite(value)) return value;
  throw new LudusError("bad-value", { got: `an attempt worth ${value}`, expected: "a finite number" });
}

/** Plays a turn, or the rest, as the policy does without a search. */
export async function playOn(attempt: OpenAttempt, seeds: Seeds, spent?: (tokens: number) => void): Promise<void> {
  const said = await attempt.propose(seeds.next());
  if (said === undefined) return;
  spent?.(said.tokens.length);
  await attempt.take(said);
}

/** Ids and seeds of everything a search asks for, in the order in which it asks. */
export interface Seeds {
  next(): number;
  nextId(): string;
}

/** Whatever a search throws is how its attempt ended, but for an environment that cannot be copied: that is the developer's. */
export async function failing<Data>(attempt: OpenAttempt<Data>, search: () => Promise<void>): Promise<void> {
  try {
    await search();
  } catch (error) {
    if (error instanceof LudusError && error.code === "not-copyable") {
      await attempt.played().score();
      throw error;
    }
    attempt.fail("env-crash", `search: ${errorStack(error)}`);
  }
}

/** An attempt that was scored, and that nobody could tell the value of: not learned from. */
export function spoiled<Data>(played: PlayedRollout<Data>, error: unknown): PlayedRollout<Data> {
  const end = { stop: "env-crash" as const, failure: failureText(`search: ${errorStack(error)}`) };
  const score = { total: 0, parts: {}, success: false };
  return {
    ...played,
    stop: end.stop,
    async score() {
      const rollout = await played.score();
      if (isInfrastructureStop(rollout.stop)) return rollout;
      return { ...rollout, ...end, trajectories: rollout.trajectories.map((each) => ({ ...each, ...end, score })) };
    },
  };
}

/** Closes copies; those that have not ended are not scored. */
export async function discard(attempts: Iterable<OpenAttempt>): Promise<void> {
  await Promise.all(Array.from(attempts, (attempt) => attempt.played().score()));
}

/** Under the name it was asked for, whichever of several attempts it is. */
export function renamed<Data>(played: PlayedRollout<Data>, id: string): PlayedRollout<Data> {
  if (played.id === id) return played;
  return {
    ...played,
    id,
    async score() {
      const rollout = await played.score();
      const trajectories = rollout.trajectories.map((trajectory) => {
        return { ...trajectory, rollout: id, id: `${id}${trajectory.id.slice(rollout.id.length)}` };
      });
      return { ...rollout, id, trajectories };
    },
  };
}
