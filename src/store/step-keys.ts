import { LudusError } from "../errors.ts";

// Keys of groups and trajectories hold their step: key = step * 2^20 + place in the step. So the order of keys is that of the
// steps, a range of steps is a range of keys, and a run that forgot its last steps gives the same keys again.
export const keyBits = 20;
export const keysPerStep = 2 ** keyBits;

/** Keys must stay whole numbers that JavaScript can hold. */
const maxStep = 2 ** 32;

export function checkedStep(step: number): number {
  if (Number.isInteger(step) && step >= 0 && step < maxStep) return step;
  throw new LudusError("bad-step", { got: `step ${step}`, expected: `a whole number from 0 to ${maxStep - 1}` });
}

/** The first key of a step; throws when it is no step. */
export function firstKey(step: number): number {
  return checkedStep(step) * keysPerStep;
}

export function stepOf(key: number): number {
  return Math.floor(key / keysPerStep);
}

/** The key after the last one of a step, or its first. */
export function nextKey(what: "groups" | "trajectories", step: number, last: number | undefined): number {
  const key = last === undefined ? firstKey(step) : last + 1;
  if (key < firstKey(step) + keysPerStep) return key;
  throw new LudusError("step-too-large", {
    got: `more than ${keysPerStep} ${what} in step ${step}`,
    expected: "fewer",
    hint: "Append them to several steps.",
  });
}
