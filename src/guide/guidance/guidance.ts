import { LudusError } from "../../errors.ts";
import { refuseUnknownOptions } from "../../known-options.ts";
import type { Guide, GuideContext, MakeGuide } from "../guide.ts";
import { inOrder } from "../in-order.ts";
import { type GuidanceOptions, knownGuidanceOptions } from "./guidance-options.ts";
import { GuidedRetries } from "./guided-retries.ts";

const defaults: Omit<GuidanceOptions, "hints"> = {
  tasks: inOrder(),
  probability: (passRate) => 1 - passRate,
  share: 0.5,
  retries: 3,
  waiting: 32,
  window: 50,
  seed: 0,
};

/**
 * Guided retries (Agent-RLVR): tasks that no attempt solved come again with a hint.
 *
 *     train({ …, guide: guidance({ hints: lockHints(env) }) })
 *
 * The hint is told after the first observation. Hints are written when tasks are picked, from the attempts that failed. How the
 * guided attempts are learned from is the algorithm's: `guided(grpo(), { … })`.
 */
export function guidance(options: Pick<GuidanceOptions, "hints"> & Partial<GuidanceOptions>): MakeGuide {
  refuseUnknownOptions("guidance", options, knownGuidanceOptions);
  const chosen = { ...defaults, ...options };
  const { share, retries, waiting, window } = chosen;
  if (!(share >= 0 && share <= 1)) refuse(`share ${share}`, "0 to 1");
  for (const [name, value] of Object.entries({ retries, waiting, window })) {
    if (!(Number.isInteger(value) && value >= 1)) refuse(`${name} ${value}`, "a whole number of at least 1");
  }
  return function guidance<Data>(context: GuideContext<Data>): Guide<Data> {
    return new GuidedRetries(context.env, chosen.tasks(context), chosen);
  };
}

function refuse(got: string, expected: string): never {
  throw new LudusError("bad-guidance", { got, expected });
}
