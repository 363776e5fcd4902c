import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { makeScore } from "../schema/score.ts";
import { hasTagFormat } from "../scorer/format-tags.ts";
import { makeReward } from "./make-reward.ts";
import type { Reward } from "./reward.ts";

export interface FormatOptions {
  /** `every`: all turns must keep the format. `share`: how many do. `last`: the last one does. */
  turns: "every" | "share" | "last";
  weight: number;
}

const knownFormatOptions: KnownOptions<FormatOptions> = { turns: true, weight: true };

const defaults: FormatOptions = { turns: "every", weight: 1 };

/** `weight` for turns that are these blocks, each once and in this order, with nothing around them: `format(["think", "answer"])`. */
export function format<Data, State = unknown>(
  tags: readonly string[],
  options: Partial<FormatOptions> = {},
): Reward<Data, State> {
  refuseUnknownOptions("format", options, knownFormatOptions);
  const { turns: which, weight } = { ...defaults, ...options };
  return makeReward(
    ({ turns }) => {
      const asked = which === "last" ? turns.slice(-1) : turns;
      const share = asked.filter(({ text }) => hasTagFormat(text.trim(), tags)).length / Math.max(1, asked.length);
      return makeScore({ format: weight * (which === "share" ? share : Math.floor(share)) });
    },
    { range: [Math.min(0, weight), Math.max(0, weight)] },
  );
}
