import { LudusError } from "../../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";

export interface JudgeLimits {
  readonly maxCalls: number;
  /** Prompt and answer together. Calls in flight when it runs out are not aborted. */
  readonly maxTokens: number;
}

const knownJudgeLimits: KnownOptions<JudgeLimits> = { maxCalls: true, maxTokens: true };

/** A limit on calls and tokens; several judges may share one. */
export interface JudgeBudget {
  readonly calls: number;
  readonly tokens: number;
  /** Before every call; throws `judge-budget-spent` where nothing is left. */
  spendCall(): void;
  addTokens(tokens: number): void;
}

export function judgeBudget(limits: Partial<JudgeLimits> = {}): JudgeBudget {
  refuseUnknownOptions("judgeBudget", limits, knownJudgeLimits);
  const { maxCalls = Number.POSITIVE_INFINITY, maxTokens = Number.POSITIVE_INFINITY } = limits;
  let calls = 0;
  let tokens = 0;
  return {
    get calls() {
      return calls;
    },
    get tokens() {
      return tokens;
    },
    spendCall() {
      if (calls >= maxCalls || tokens >= maxTokens) {
        throw new LudusError("judge-budget-spent", {
          got: `one more call after ${calls} calls and ${tokens} tokens`,
          expected: `at most ${maxCalls} calls and ${maxTokens} tokens`,
          hint: "Raise the budget, cache answers, or let a rule decide first.",
        });
      }
      calls++;
    },
    addTokens(more) {
      tokens += more;
    },
  };
}
