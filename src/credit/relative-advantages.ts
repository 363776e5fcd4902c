import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { refuseWithoutEffect } from "../option-without-effect.ts";
import { isUniform, meanOf, type StdKind, stdOf } from "./statistics.ts";

export interface RelativeOptions {
  readonly std: StdKind;
  /** `none` only subtracts the mean. */
  readonly scale: "std" | "none";
  /** Added to the deviation. verl 1e-6, TRL 1e-4, OpenRLHF 1e-9. */
  readonly epsilon: number;
  /** A smaller deviation is raised to this, so that near-equal rewards are not blown up; 0 raises none. */
  readonly stdFloor: number;
  /** A group of one: `reward` takes mean 0 and deviation 1 as verl does, `zero` gives it no credit. */
  readonly singleton: "reward" | "zero";
}

/** What may be given: without division by the deviation nothing about the deviation has an effect. */
export type RelativeChoice =
  | (Partial<RelativeOptions> & { readonly scale?: "std" })
  | (Partial<Pick<RelativeOptions, "singleton">> & {
      readonly scale: "none";
      readonly std?: never;
      readonly epsilon?: never;
      readonly stdFloor?: never;
    });

export const relativeDefaults: RelativeOptions = {
  std: "bessel",
  scale: "std",
  epsilon: 1e-6,
  stdFloor: 0,
  singleton: "reward",
};

const known: KnownOptions<RelativeOptions> = { std: true, scale: true, epsilon: true, stdFloor: true, singleton: true };

export function checkRelative(what: string, options: object): void {
  refuseUnknownOptions<Partial<RelativeOptions>>(what, options, known);
  checkScale(what, options);
}

/** Refuses what says how to divide by the deviation where nothing is divided by it. */
export function checkScale(what: string, options: Partial<Pick<RelativeOptions, "scale">>): void {
  if (options.scale !== "none") return;
  refuseWithoutEffect(what, options, ["std", "epsilon", "stdFloor"], {
    when: 'with scale "none", where nothing is divided by the deviation',
    hint: 'Leave it out, or use scale "std".',
  });
}

/**
 * Each number against its peers: `(r - mean) / (std + epsilon)`. Exactly 0 where all are equal.
 *
 *     relativeAdvantages([1, 0, 0, 1, 0, 0, 0, 0]);        // 1.620182 of a 1, -0.540061 of a 0
 */
export function relativeAdvantages(
  rewards_G: ArrayLike<number>,
  options: Partial<RelativeOptions> = {},
): Float64Array<ArrayBuffer> {
  const { std, scale, epsilon, stdFloor, singleton } = { ...relativeDefaults, ...options };
  const G = rewards_G.length;
  const advantages_G = new Float64Array(G);
  const isAlone = G === 1;
  if (isAlone ? singleton === "zero" : isUniform(rewards_G)) return advantages_G;
  const mean = isAlone ? 0 : meanOf(rewards_G);
  const deviation = isAlone ? 1 : Math.max(stdOf(rewards_G, std), stdFloor);
  const divisor = scale === "std" ? deviation + epsilon : 1;
  for (let g = 0; g < G; g++) advantages_G[g] = (rewards_G[g] - mean) / divisor;
  return advantages_G;
}
