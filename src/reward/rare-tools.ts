import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import type { ComparedAttempt, GroupReward } from "./group-reward.ts";

export interface RareToolsOptions {
  /** What an attempt gets that calls a tool none of the others does. */
  bonus: number;
}

const known: KnownOptions<RareToolsOptions> = { bonus: true };

/**
 * Exploration: a bonus for calling tools that the other attempts at the same task do not call. Of several tools the mean counts; calls of tools that there are not, or that
 * cannot be read, are none.
 *
 *     train({ …, groupReward: rareTools({ bonus: 0.2 }) })
 */
export function rareTools(options: Partial<RareToolsOptions> = {}): GroupReward {
  refuseUnknownOptions("rareTools", options, known);
  const { bonus = 0.2 } = options;
  if (!Number.isFinite(bonus)) {
    throw new LudusError("bad-option", { got: `bonus ${bonus} of rareTools`, expected: "a finite number" });
  }
  return ({ attempts }) => {
    const called = attempts.map(toolsOf);
    return called.map((tools, own) => {
      const others = called.filter((_, i) => i !== own);
      const rarity = (tool: string) => 1 - others.filter((set) => set.has(tool)).length / Math.max(1, others.length);
      const all = [...tools].reduce((sum, tool) => sum + rarity(tool), 0);
      return { parts: { rareTools: tools.size === 0 ? 0 : (bonus * all) / tools.size } };
    });
  };
}

function toolsOf({ turns }: ComparedAttempt): ReadonlySet<string> {
  const made = turns.flatMap(({ calls }) => calls);
  return new Set(made.filter(({ outcome }) => outcome === "ok" || outcome === "error").map(({ name }) => name));
}
