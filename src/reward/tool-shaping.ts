import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { makeScore } from "../schema/score.ts";
import type { CallRecord } from "../schema/turn.ts";
import { asJson } from "../scorer/json-value.ts";
import { type ShapedCall, type ToolShapingOptions, toolShapingScore } from "../scorer/tool-shaping.ts";
import { makeReward } from "./make-reward.ts";
import type { Reward } from "./reward.ts";

export interface ToolShapingRewardOptions<Data> extends Omit<ToolShapingOptions, "relevant"> {
  /** Tools that help with the task; none by default. */
  relevant: (task: Data) => readonly string[];
}

const knownToolShapingRewardOptions: KnownOptions<ToolShapingRewardOptions<unknown>> = {
  relevant: true,
  relevantBonus: true,
  duplicatePenalty: true,
  unknownPenalty: true,
  cap: true,
};

/** A small reward for using the right tools and against repeating calls or inventing tools; within ±cap, 0.3 by default. */
export function toolShaping<Data, State = unknown>(
  options: Partial<ToolShapingRewardOptions<Data>> = {},
): Reward<Data, State> {
  refuseUnknownOptions("toolShaping", options, knownToolShapingRewardOptions);
  const { relevant = () => [], cap = 0.3, ...rest } = options;
  return makeReward(
    ({ task, turns }) => {
      const calls = turns.flatMap((turn) => turn.calls.map(shaped));
      return makeScore({ tools: toolShapingScore(calls, { ...rest, cap, relevant: relevant(task) }) });
    },
    { range: [-cap, cap] },
  );
}

function shaped({ name, arguments: args, outcome }: CallRecord): ShapedCall {
  const isKnown = outcome !== "unknown-tool";
  return { name, arguments: asJson(args), outcome: isKnown && outcome !== "ok" ? "error" : outcome };
}
