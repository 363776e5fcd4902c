import type { Finding, RunView } from "../detector.ts";

/** Something that must hold for every rollout of every run, looked at in those that were sampled. */
export interface Invariant {
  readonly name: string;
  prove(view: RunView): Proof;
}

export interface Proof {
  readonly invariant: string;
  /** How many were looked at; 0 proves nothing. */
  readonly checked: number;
  readonly unit: string;
  /** Where it does not hold. */
  readonly findings: readonly Finding[];
  /** Why nothing, or not everything, was looked at. */
  readonly notChecked?: string;
}
