import { defined } from "../../defined.ts";
import { LudusError } from "../../errors.ts";
import { uniformAt } from "../../random.ts";
import type { Sample, SampleRequest, SampleStop } from "../engine.ts";

/** What a server of this protocol cannot report as the engine contract asks. */
interface MaybeLacking {
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly alternatives?: number;
  readonly candidates?: unknown;
  readonly stopTokens?: readonly number[];
  readonly stopStrings?: readonly string[];
}

export function refuseLacking(request: MaybeLacking): void {
  const { temperature = 1, topP = 1, topK, alternatives, candidates, stopTokens = [], stopStrings = [] } = request;
  if (temperature !== 1 && temperature !== 0) {
    throw lacking(`temperature = ${temperature}`, "temperature 1: log-probabilities are those of temperature 1");
  }
  if (topP < 1) throw lacking(`topP = ${topP}`, "no cut: only log-probabilities before it are reported");
  if (topK !== undefined) throw lacking(`topK = ${topK}`, "no cut: only log-probabilities before it are reported");
  if (alternatives !== undefined) throw lacking("alternatives", "log-probabilities of the row's own tokens");
  if (candidates !== undefined) throw lacking("candidates", "log-probabilities of the row's own tokens");
  if (stopTokens.length > 0 && stopStrings.length > 0) {
    throw lacking("stop tokens and stop strings at once", "one of the two");
  }
}

function lacking(got: string, expected: string): LudusError {
  const hint = "The embedded engine and PyTorch have no such limit.";
  return new LudusError("bad-option", { got: `${got} on a Tinker server`, expected, hint });
}

export interface SampleBody {
  readonly prompt: object;
  readonly sampling_params: { readonly max_tokens: number };
}

export function sampleBody(request: SampleRequest, contextLength: number): SampleBody {
  const { tokens, maxTokens, seed, temperature = 1, stopTokens = [], stopStrings = [] } = request;
  const stop = stopStrings.length > 0 ? stopStrings : stopTokens;
  return {
    prompt: { chunks: [{ type: "encoded_text", tokens: Array.from(tokens) }] },
    sampling_params: {
      max_tokens: Math.min(maxTokens, contextLength - tokens.length),
      // servers take 31 bits
      seed: Math.floor(uniformAt(seed, 0) * 2 ** 31),
      temperature,
      ...defined({ stop: stop.length > 0 ? [...stop] : undefined }),
    } as SampleBody["sampling_params"],
  };
}

interface SampledSequence {
  readonly stop_reason: string;
  readonly tokens: readonly number[];
  readonly logprobs?: readonly number[] | null | undefined;
}

export function toSample(sequence: SampledSequence, request: SampleRequest, version: number, limit: number): Sample {
  const { tokens, logprobs, stop_reason: reason } = sequence;
  if (logprobs == null || logprobs.length !== tokens.length) {
    throw new LudusError("server-refused", {
      got: `${tokens.length} sampled tokens with ${logprobs?.length ?? 0} log-probabilities`,
      expected: "one for each",
    });
  }
  return {
    tokens: Int32Array.from(tokens),
    logprobs: Float32Array.from(logprobs),
    versions: new Int32Array(tokens.length).fill(version),
    stop: stopOf(reason, tokens, request, limit),
  };
}

function stopOf(reason: string, tokens: readonly number[], request: SampleRequest, limit: number): SampleStop {
  if (reason === "stop") return (request.stopStrings ?? []).length > 0 ? "stop-string" : "stop-token";
  return tokens.length >= limit && limit < request.maxTokens ? "context-full" : "max-tokens";
}
