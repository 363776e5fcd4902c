import { LudusError } from "../../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import { type ActionBins, actionBins } from "../../policy/action-bins.ts";
import { plain } from "../../policy/formats/plain.ts";
import { createRng, type Rng } from "../../random.ts";
import { generated } from "../../task/generated.ts";
import { defineEnv } from "../define-env.ts";
import type { Env } from "../env.ts";
import { checkWholeOptions } from "./check-options.ts";

/** Two joints, each of which moves the hand along one axis. */
export interface ReacherArm {
  /** How far the hand goes when a joint is told to go 1, along its axis. Negative: the other way. */
  readonly gain: readonly [number, number];
}

export interface ReacherOptions {
  arm: ReacherArm;
  /** How actions are said; 256 bins from -1 to 1 by default. */
  bins: ActionBins;
  /** How near to the target the hand has to come, along both axes. */
  tolerance: number;
  /** The share of a demonstration's numbers that are far too large: faults of a sensor. The arm stops at its limit all the same. */
  outlierShare: number;
  turns: number;
  seed: number;
}

const knownOptions: KnownOptions<ReacherOptions> = {
  arm: true,
  bins: true,
  tolerance: true,
  outlierShare: true,
  turns: true,
  seed: true,
};

const even = actionBins(
  [
    [-1, -1],
    [1, 1],
  ],
  { range: "extremes" },
);

const defaults: ReacherOptions = {
  arm: { gain: [1, 1] },
  bins: even,
  tolerance: 0.02,
  outlierShare: 0,
  turns: 5,
  seed: 0,
};

/** From the hand to the target at the beginning, -1 to 1. */
export interface ReacherTask {
  readonly offset: readonly [number, number];
}

export interface ReacherState {
  offset: [number, number];
}

/** The furthest that a joint goes in a turn, and what an outlier says. */
const jointLimit = 0.5;
const outlier = 16;

/**
 * An arm of two joints whose hand is to reach a target. The policy reads how far the target is, one character for each axis, and says how far each joint goes, in
 * the characters of `bins`. Success is both axes within the tolerance.
 */
export function reacher(options: Partial<ReacherOptions> = {}): Env<ReacherTask, ReacherState> {
  refuseUnknownOptions("reacher", options, knownOptions);
  const chosen = { ...defaults, ...options };
  const { arm, bins, tolerance, turns, seed } = chosen;
  checkWholeOptions("reacher", { turns: [turns, 1, 1000] });
  checkReals(chosen);
  const isThere = ({ offset }: ReacherState) => offset.every((distance) => Math.abs(distance) <= tolerance);
  return defineEnv<ReacherTask, ReacherState>({
    name: "reacher",
    description: "Move an arm of two joints to a target",
    tasks: generated((rng) => ({ offset: [2 * rng.next() - 1, 2 * rng.next() - 1] }), { name: "reacher", seed }),
    start({ task }) {
      const state: ReacherState = { offset: [...task.offset] };
      return { state, say: even.write(state.offset) };
    },
    act({ state, answer }) {
      const said = bins.read(answer.trim());
      if (said !== undefined) state.offset = moved(state.offset, said, arm);
      return { say: even.write(state.offset), done: isThere(state), info: { isValid: said !== undefined } };
    },
    score: ({ state }) => (isThere(state) ? 1 : 0),
    expert: ({ state, rng }) => bins.write(demonstratedAction(state.offset, chosen, rng)),
    actions: ({ rng }) => Array.from({ length: 8 }, () => bins.write([between(rng), between(rng)])),
    limits: { turns, turnTokens: 8, tokens: 8 * turns },
    format: plain(),
  });
}

function checkReals({ arm: { gain }, bins, tolerance, outlierShare }: ReacherOptions): void {
  const expected = "gains other than 0, bins of two dimensions, a tolerance above 0, a share of outliers from 0 to 1";
  const isSound =
    gain.length === 2 &&
    gain.every((each) => Number.isFinite(each) && each !== 0) &&
    bins.dimensions === 2 &&
    tolerance > 0 &&
    outlierShare >= 0 &&
    outlierShare <= 1;
  if (isSound) return;
  const got = `reacher with gains ${gain}, ${bins.dimensions} dimensions, tolerance ${tolerance}, outlierShare ${outlierShare}`;
  throw new LudusError("bad-option", { got, expected });
}

const between = (rng: Rng) => (2 * rng.next() - 1) * jointLimit;
const limited = (value: number) => Math.max(-jointLimit, Math.min(jointLimit, value));

function moved(offset: readonly [number, number], action: readonly number[], { gain }: ReacherArm): [number, number] {
  const along = (axis: 0 | 1) => offset[axis] - gain[axis] * limited(action[axis]);
  return [along(0), along(1)];
}

function demonstratedAction(
  offset: readonly [number, number],
  { arm: { gain }, outlierShare }: Pick<ReacherOptions, "arm" | "outlierShare">,
  rng: Rng,
): [number, number] {
  const along = (axis: 0 | 1) => {
    const wanted = limited(offset[axis] / gain[axis]);
    return rng.next() < outlierShare ? Math.sign(wanted || 1) * outlier * (0.5 + rng.next()) : wanted;
  };
  return [along(0), along(1)];
}

/** Actions of demonstrations before they are made into text: what bins are made from. */
export function reacherActions(
  options: Partial<Omit<ReacherOptions, "bins">> & { episodes?: number } = {},
): number[][] {
  const { episodes = 1000, ...rest } = options;
  refuseUnknownOptions("reacherActions", rest, knownOptions);
  const chosen = { ...defaults, ...rest };
  const rng = createRng(chosen.seed);
  return Array.from({ length: episodes }).flatMap(() => {
    let offset: [number, number] = [2 * rng.next() - 1, 2 * rng.next() - 1];
    const actions: number[][] = [];
    while (actions.length < chosen.turns && offset.some((distance) => Math.abs(distance) > chosen.tolerance)) {
      const action = demonstratedAction(offset, chosen, rng);
      actions.push(action);
      offset = moved(offset, action, chosen.arm);
    }
    return actions;
  });
}
