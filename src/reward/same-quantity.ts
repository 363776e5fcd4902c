import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { checkQuantity, parseQuantity, type Quantity } from "../scorer/quantity.ts";
import type { TextOptions } from "./episode-text.ts";
import type { Reward } from "./reward.ts";
import { verified, wholeAnswer } from "./verified.ts";

export interface SameQuantityOptions<Data, State> extends TextOptions<Data, State> {
  /** Relative to the gold value; 1e-6 by default. */
  tolerance: number;
}

const knownSameQuantityOptions: KnownOptions<SameQuantityOptions<unknown, unknown>> = { text: true, tolerance: true };

/** 1 where the answer is the gold quantity (`5 km`), in any unit of its kind (`5,000 m`), else 0. The unit has to be there. */
export function sameQuantity<Data, State = unknown>(
  gold: (task: Data) => string,
  options: Partial<SameQuantityOptions<Data, State>> = {},
): Reward<Data, State> {
  refuseUnknownOptions("sameQuantity", options, knownSameQuantityOptions);
  const { text = wholeAnswer, tolerance = 1e-6 } = options;
  return verified((episode) => checkQuantity(text(episode), goldQuantity(gold(episode.task)), tolerance));
}

function goldQuantity(text: string): Quantity {
  const gold = parseQuantity(text);
  if (gold !== undefined) return gold;
  throw new LudusError("bad-task", {
    got: `the quantity ${JSON.stringify(text)}`,
    expected: "a number with known units, such as 12.5 km/h",
  });
}
