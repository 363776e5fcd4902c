import { checkSampleRequest } from "../../../engine/check-request.ts";
import type { EngineInfo, Sample, SampleRequest, SampleStop } from "../../../engine/engine.ts";
import { StopStringMatcher } from "../../../engine/stop-strings.ts";
import type { Renderer } from "../../../policy/renderer.ts";
import type { Tokenizer } from "../../../policy/tokenizer.ts";
import { uniformAt } from "../../../random.ts";
import type { Policy } from "../../../rollout/rollout.ts";

type Words = string | Int32Array;

export interface ScriptedEngineOptions {
  tokenizer: Tokenizer;
  renderer: Renderer;
  /** What each rollout says in its turns, the last of them for ever; or what is said to a request. Throws, waits. */
  says: readonly Words[] | ((request: SampleRequest, turn: number, signal?: AbortSignal) => Words | Promise<Words>);
  contextLength?: number;
}

export interface ScriptedEngine extends Policy {
  /** What was asked and what was answered, in the order of the answers. */
  readonly samples: { readonly request: SampleRequest; readonly sample: Sample }[];
  readonly released: string[];
}

/**
 * A policy that says what it is told, within what was asked for. No two of its tokens have the same log-probability, and
 * versions rise, within answers too: what is recorded at the wrong place is found out.
 */
export function scriptedEngine(options: ScriptedEngineOptions): ScriptedEngine {
  const { tokenizer, renderer, says, contextLength = 4096 } = options;
  const info: EngineInfo = {
    name: "scripted",
    device: "none",
    vocabularySize: tokenizer.vocabularySize,
    contextLength,
    parameters: 0,
    hasValues: false,
    policyVersion: 0,
    weights: ["policy", "opponent"],
  };
  const turns = new Map<string | undefined, number>();
  const samples: ScriptedEngine["samples"] = [];
  const released: string[] = [];
  async function sample(request: SampleRequest, signal?: AbortSignal): Promise<Sample> {
    checkSampleRequest(info, request);
    const turn = turns.get(request.rollout) ?? 0;
    turns.set(request.rollout, turn + 1);
    const words =
      typeof says === "function" ? await says(request, turn, signal) : says[Math.min(turn, says.length - 1)];
    signal?.throwIfAborted();
    const tokens = typeof words === "string" ? renderer.say(words) : words;
    const answer = cut(tokens, request, contextLength, (id) => tokenizer.tokenBytes(id));
    const at = (t: number) => request.tokens.length + t;
    const made: Sample = {
      ...answer,
      logprobs: Float32Array.from(answer.tokens, (_, t) => -uniformAt(request.seed, at(t))),
      versions: Int32Array.from(answer.tokens, (_, t) => samples.length + (t < 2 ? 0 : 1)),
    };
    samples.push({ request, sample: made });
    return made;
  }
  async function release({ rollout }: { rollout?: string }): Promise<void> {
    if (rollout !== undefined) released.push(rollout);
  }
  return { engine: { info, sample, release }, renderer, samples, released };
}

function cut(
  tokens: Int32Array,
  request: SampleRequest,
  contextLength: number,
  tokenBytes: (id: number) => Uint8Array,
): { tokens: Int32Array; stop: SampleStop } {
  const matcher = new StopStringMatcher(request.stopStrings ?? [], tokenBytes);
  for (const [t, token] of tokens.entries()) {
    const upTo = (stop: SampleStop) => ({ tokens: tokens.slice(0, t + 1), stop });
    if (request.stopTokens?.includes(token)) return upTo("stop-token");
    if (matcher.push(token)) return upTo("stop-string");
    if (t + 1 >= request.maxTokens) return upTo("max-tokens");
    if (request.tokens.length + t + 1 >= contextLength) return upTo("context-full");
  }
  // words without an end go on until they are stopped
  return cut(Int32Array.of(...tokens, 32), request, contextLength, tokenBytes);
}
