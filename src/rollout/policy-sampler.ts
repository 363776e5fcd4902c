import { defined } from "../defined.ts";
import { policyWeights } from "../engine/engine.ts";
import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { seedOf } from "../task/seeds.ts";
import type { McpAnswers } from "../tool/mcp-answers.ts";
import { ToolError } from "../tool/tool.ts";
import type { Policy } from "./rollout.ts";

export interface PolicySamplerOptions {
  /** No answer is longer, whatever the server asks for; 512 by default. */
  maxTokens: number;
  /** Where the server does not say; 1 by default. */
  temperature: number;
  /** 0 by default: the same requests in the same order have the same answers. */
  seed: number;
}

const knownOptions: KnownOptions<PolicySamplerOptions> = { maxTokens: true, temperature: true, seed: true };
const defaults: PolicySamplerOptions = { maxTokens: 512, temperature: 1, seed: 0 };

/**
 * Lets a policy answer what MCP servers ask a model in the middle of a call:
 *
 *     const server = await mcpTools({ command: "..." }, { sample: policySampler(policy) });
 *
 * The answers are no part of a trajectory and are not learned from. A conversation that leaves no room in the context is declined.
 */
export function policySampler(
  policy: Pick<Policy, "engine" | "renderer" | "weights">,
  options: Partial<PolicySamplerOptions> = {},
): NonNullable<McpAnswers["sample"]> {
  refuseUnknownOptions("policySampler", options, knownOptions);
  const { maxTokens, temperature, seed } = { ...defaults, ...options };
  checkOptions(maxTokens, temperature);
  const { engine, renderer, weights } = policy;
  let asked = 0;
  return async (request, { signal }) => {
    const chosen = request.temperature ?? temperature;
    // what the server sends is not the policy's fault: it is told, and the call goes on
    if (!isTemperature(chosen)) throw new ToolError(`temperature ${chosen}: expected 0 or more`);
    const prompt = renderer.start(request.messages, []);
    const room = engine.info.contextLength - prompt.length;
    if (room <= 0)
      throw new ToolError(`the conversation leaves no room in a context of ${engine.info.contextLength} tokens`);
    const stopStrings = request.stopSequences?.filter((text) => text !== "");
    const { tokens, stop } = await engine.sample(
      {
        tokens: prompt,
        maxTokens: Math.max(1, Math.floor(Math.min(request.maxTokens, maxTokens, room))),
        seed: seedOf(seed, "policy-sampler", asked++),
        temperature: chosen,
        stopTokens: renderer.stopTokens,
        weights: weights?.agent ?? policyWeights,
        ...defined({ stopStrings: stopStrings?.length ? stopStrings : undefined }),
      },
      signal,
    );
    const text = renderer.read(tokens);
    if (stop === "stop-string") return { text: before(text, stopStrings ?? []), stopReason: "stopSequence" };
    return { text, stopReason: stop === "stop-token" ? "endTurn" : "maxTokens" };
  };
}

const isTemperature = (value: number) => Number.isFinite(value) && value >= 0;

function checkOptions(maxTokens: number, temperature: number): void {
  const problem = !(Number.isInteger(maxTokens) && maxTokens >= 1)
    ? { got: `maxTokens ${maxTokens}`, expected: "a whole number of at least 1" }
    : isTemperature(temperature)
      ? undefined
      : { got: `temperature ${temperature}`, expected: "a number of at least 0" };
  if (problem !== undefined) throw new LudusError("bad-config", problem);
}

/** What stands before the first of the stop sequences. */
function before(text: string, stops: readonly string[]): string {
  const ends = stops.map((stop) => text.indexOf(stop)).filter((end) => end >= 0);
  return ends.length === 0 ? text : text.slice(0, Math.min(...ends));
}
