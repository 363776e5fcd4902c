import { LudusError } from "../../errors.ts";
import { type Interval, studentQuantile } from "../../eval/index.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import { shareOf } from "./production-records.ts";

export interface CanaryOptions {
  /** The share of sessions that the candidate answers, by their ids. */
  share: number;
  /** Outcomes of the candidate at the first look; each further look is at twice as many. */
  firstLook: number;
  /** How much worse than the stable one a candidate may be without being called off. */
  tolerance: number;
  /** How likely a decision may be wrong, over all looks together. */
  error: number;
  /** Another one sends other sessions to the candidate. */
  salt: string;
  /** What `state()` gave, to go on after a restart. */
  from?: CanaryState;
}

const known: KnownOptions<CanaryOptions> = {
  share: true,
  firstLook: true,
  tolerance: true,
  error: true,
  salt: true,
  from: true,
};
const defaults = { share: 0.05, firstLook: 50, tolerance: 0, error: 0.05, salt: "canary" };

export type CanaryArm = "stable" | "candidate";

interface ArmCounts {
  readonly count: number;
  readonly successes: number;
}

/** Plain data, for a store. */
export interface CanaryState {
  readonly phase: "running" | "promoted" | "rolled-back";
  readonly stable: ArmCounts;
  readonly candidate: ArmCounts;
  readonly looks: number;
  /** The candidate's share of successes minus the stable one's, as of the last look. */
  readonly difference?: Interval;
}

export interface Canary {
  /** Who answers a session; the same for the same id while nothing is decided. */
  choose(session: string): CanaryArm;
  /** What became of a session, in whichever order they end. An answer that failed is no success. */
  observe(session: string, success: boolean): CanaryState;
  /** Calls it off at once, whatever the numbers say. */
  rollBack(): CanaryState;
  state(): CanaryState;
}

const none: ArmCounts = { count: 0, successes: 0 };

/**
 * Lets a candidate answer a small share of sessions until an interval says that it is better, or worse. Looking again and again at an
 * interval of 95 % would be wrong more often than in 5 %: here the looks are at 1, 2, 4, … times `firstLook` outcomes, and look `k` takes
 * `error / (k (k + 1))`, which is `error` for all of them together.
 */
export function createCanary(options: Partial<CanaryOptions> = {}): Canary {
  refuseUnknownOptions("createCanary", options, known);
  const { share, firstLook, tolerance, error, salt } = { ...defaults, ...options };
  for (const [name, holds, expected] of [
    ["share", share > 0 && share < 1, "above 0 and below 1"],
    ["firstLook", Number.isInteger(firstLook) && firstLook >= 10, "a whole number from 10"],
    ["tolerance", tolerance >= 0 && tolerance < 1, "from 0, below 1"],
    ["error", error > 0 && error < 0.5, "above 0, below 0.5"],
  ] as const) {
    if (!holds) throw new LudusError("bad-option", { got: `createCanary with ${name}`, expected });
  }
  let state: CanaryState = options.from ?? { phase: "running", stable: none, candidate: none, looks: 0 };
  const armOf = (session: string): CanaryArm => (shareOf(`${salt}/${session}`) < share ? "candidate" : "stable");
  return {
    choose(session) {
      if (state.phase === "running") return armOf(session);
      return state.phase === "promoted" ? "candidate" : "stable";
    },
    observe(session, success) {
      // what ends after the decision was begun before it, or is answered by the one that was chosen
      if (state.phase !== "running") return state;
      const arm = armOf(session);
      const { count, successes } = state[arm];
      state = { ...state, [arm]: { count: count + 1, successes: successes + (success ? 1 : 0) } };
      state = looked(state, firstLook, tolerance, error);
      return state;
    },
    rollBack() {
      state = { ...state, phase: "rolled-back" };
      return state;
    },
    state: () => state,
  };
}

function looked(state: CanaryState, firstLook: number, tolerance: number, error: number): CanaryState {
  const due = firstLook * 2 ** state.looks;
  if (Math.min(state.candidate.count, state.stable.count) < due) return state;
  const looks = state.looks + 1;
  const difference = shareDifference(state.stable, state.candidate, error / (looks * (looks + 1)));
  const phase = difference.low > 0 ? "promoted" : difference.high < -tolerance ? "rolled-back" : "running";
  return { ...state, looks, difference, phase };
}

/** Of two shares of different sessions, at `1 - error` (Newcombe, from Wilson's intervals). */
export function shareDifference(stable: ArmCounts, candidate: ArmCounts, error: number): Interval {
  // of so many degrees of freedom it is the normal distribution's
  const z = studentQuantile(1 - error / 2, 1e6);
  const [a, b] = [stable, candidate].map(({ count, successes }) => {
    const p = successes / count;
    const centre = (p + (z * z) / (2 * count)) / (1 + (z * z) / count);
    const half = (z / (1 + (z * z) / count)) * Math.sqrt((p * (1 - p)) / count + (z * z) / (4 * count * count));
    return { p, low: centre - half, high: centre + half };
  });
  const mean = b.p - a.p;
  return {
    mean,
    low: mean - Math.hypot(b.p - b.low, a.high - a.p),
    high: mean + Math.hypot(b.high - b.p, a.p - a.low),
  };
}
