import { LudusError } from "../../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import type { Turn } from "../../schema/turn.ts";
import { type Tool, ToolError } from "../../tool/tool.ts";
import type { Env } from "../env.ts";
import { withTurnRewards } from "../episode-score.ts";

export interface FailingToolsOptions {
  /** The share of calls that fail before anything is done. */
  rate: number;
  /** What the policy reads then. */
  message: string;
  /** Added to the score as the part `recovery`, times the share of failed calls that a later call of the same tool made good. Nothing by default. */
  recoveryReward: number;
}

const known: KnownOptions<FailingToolsOptions> = { rate: true, message: true, recoveryReward: true };
const defaults: FailingToolsOptions = { rate: 0.2, message: "Service unavailable. Try again.", recoveryReward: 0 };

/**
 * The environment with tools that fail now and then, through no fault of the policy: an agent has to try again.
 *
 *     withFailingTools(searchQa(), { rate: 0.3, recoveryReward: 0.1 })
 *
 * Trying again uses up turns: raise `limits.turns`. Which calls fail follows from the task's seed and what was done before. `recoveries(turns)` counts what became of them.
 */
export function withFailingTools<Data, State>(
  env: Env<Data, State>,
  options: Partial<FailingToolsOptions> = {},
): Env<Data, State> {
  refuseUnknownOptions("withFailingTools", options, known);
  const { rate, message, recoveryReward } = { ...defaults, ...options };
  if (!(rate >= 0 && rate <= 1)) refuse(`rate ${rate}`, "a share of calls, 0 to 1");
  if (!Number.isFinite(recoveryReward)) refuse(`recoveryReward ${recoveryReward}`, "a finite number");
  if (message === "") refuse("an empty message", "what the policy reads when a call fails");
  const tools = Object.entries(env.tools ?? {});
  if (tools.length === 0) refuse(`${env.name}, which has no tools`, "an environment with tools");
  const isolated = tools.find(([, each]) => each.isolated !== undefined);
  if (isolated !== undefined) refuse(`the tool ${isolated[0]}, which runs elsewhere`, "tools that run in this process");
  const failing = Object.fromEntries(tools.map(([name, each]) => [name, failingTool(each, rate, message)]));
  if (recoveryReward === 0) return { ...env, tools: failing };
  return {
    ...env,
    tools: failing,
    async score(episode) {
      const given = withTurnRewards((await env.score?.(episode)) ?? {}, []);
      const { failures, recovered } = recoveries(episode.turns, message);
      const recovery = failures === 0 ? 0 : (recoveryReward * recovered) / failures;
      return { ...given, total: given.total + recovery, parts: { ...given.parts, recovery } };
    },
  };
}

function failingTool<State>(tool: Tool<State>, rate: number, message: string): Tool<State> {
  return {
    ...tool,
    run(input, context) {
      if (context.rng.next() < rate) throw new ToolError(message);
      return tool.run(input, context);
    },
  };
}

export interface Recoveries {
  /** Calls that failed with the message. */
  readonly failures: number;
  /** Those after which a later call of the same tool went through. */
  readonly recovered: number;
}

/** What became of failed calls in one episode. */
export function recoveries(turns: readonly Pick<Turn, "calls">[], message: string = defaults.message): Recoveries {
  const calls = turns.flatMap(({ calls: made }) => made);
  const failed = calls.flatMap(({ name, outcome, observation }, at) =>
    outcome === "error" && observation.includes(message) ? [{ name, at }] : [],
  );
  const recovered = failed.filter(({ name, at }) =>
    calls.slice(at + 1).some((later) => later.name === name && later.outcome === "ok"),
  );
  return { failures: failed.length, recovered: recovered.length };
}

function refuse(got: string, expected: string): never {
  throw new LudusError("bad-option", { got: `${got} of withFailingTools`, expected });
}
