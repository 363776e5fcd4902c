import { z } from "zod";
import type { EngineInfo, Sample, SampleRequest } from "../../engine/engine.ts";
import { errorText, LudusError } from "../../errors.ts";
import type { SamplerAddress } from "../../queue/queue.ts";
import { fromLosslessJson, toLosslessJson } from "../../schema/lossless-json.ts";
import type { Policy } from "../rollout.ts";
import { SamplerGone } from "./sampler-gone.ts";
import { vllmAddress } from "./vllm-address.ts";

const SampleJson = z.object({
  tokens: z.array(z.int()),
  logprobs: z.array(z.number()),
  cutLogprobs: z.array(z.number()).exactOptional(),
  versions: z.array(z.int()),
  stop: z.enum(["stop-token", "stop-string", "max-tokens", "context-full"]),
});

export interface RemoteEngine {
  readonly engine: Policy["engine"];
  /** What went wrong with the samplers themselves: then what was played is nobody's doing. */
  readonly failure: string | undefined;
}

export interface RemoteEngineOptions {
  readonly contextLength: number;
  /** Of the policy when the job was offered: what is said of tokens by a server that does not tell versions. */
  readonly policyVersion: number;
}

/** Samples from the first of the addresses that answers; each rollout stays with one, whose cache knows its beginning. */
export function remoteEngine(
  samplers: readonly SamplerAddress[],
  { contextLength, policyVersion }: RemoteEngineOptions,
): RemoteEngine {
  let failure: string | undefined;
  const servers = samplers.map((address) => serverOf(address, policyVersion));
  const ask = async <Value>(
    rollout: string | undefined,
    work: (server: SamplingServer) => Promise<Value>,
    signal?: AbortSignal,
  ): Promise<Value> => {
    for (let tried = 0; ; tried++) {
      const place = (placeOf(rollout) + tried) % servers.length;
      try {
        return await work(servers[place]!);
      } catch (error) {
        if (signal?.aborted || !(error instanceof SamplerGone)) throw error;
        if (tried + 1 < servers.length) continue;
        failure = `no sampler answers, the last was ${samplers[place]!.url}: ${errorText(error.cause)}`;
        throw new LudusError("no-sampler", { got: failure, expected: "a sampler that can be reached from here" });
      }
    }
  };
  const info: EngineInfo = {
    name: "remote",
    device: "elsewhere",
    vocabularySize: 0,
    parameters: 0,
    hasValues: false,
    contextLength,
    policyVersion,
    weights: [],
  };
  return {
    engine: {
      info,
      async sample(request, signal) {
        return await ask(request.rollout, (server) => server.sample(request, signal), signal);
      },
      async release({ rollout }) {
        if (rollout === undefined) return;
        // a cache that is not freed is freed by its engine when it needs room
        await ask(rollout, (server) => server.release(rollout)).catch(() => {});
      },
    },
    get failure() {
      return failure;
    },
  };
}

/** One of the addresses. What is no fault of the request is thrown as `SamplerGone`. */
interface SamplingServer {
  sample(request: SampleRequest, signal?: AbortSignal): Promise<Sample>;
  release(rollout: string): Promise<void>;
}

function serverOf(address: SamplerAddress, policyVersion: number): SamplingServer {
  if (address.model !== undefined) return vllmAddress({ ...address, model: address.model }, policyVersion);
  const { url, key = "" } = address;
  return {
    async sample(request, signal) {
      return sampleOf(SampleJson.parse(await post(`${url}/sample`, key, requestJson(request), signal)));
    },
    release: async (rollout) => void (await post(`${url}/release`, key, { rollout }, undefined)),
  };
}

async function post(url: string, key: string, body: unknown, signal: AbortSignal | undefined): Promise<unknown> {
  let response: Response;
  let text: string;
  try {
    response = await fetch(url, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: toLosslessJson(body),
      ...(signal === undefined ? {} : { signal }),
    });
    text = await response.text();
  } catch (cause) {
    throw new SamplerGone("gone", { cause });
  }
  if (response.ok) return fromLosslessJson(text);
  const cause = new Error(`status ${response.status}: ${text.slice(0, 500)}`);
  // another sampler may know this key, or be well
  if (response.status === 401 || response.status === 503) throw new SamplerGone("refused", { cause });
  throw new LudusError("sampler-failed", { got: cause.message, expected: "a sample" });
}

function requestJson({ tokens, alternatives: _alternatives, ...request }: SampleRequest): unknown {
  return { ...request, tokens: [...tokens] };
}

function sampleOf({ tokens, logprobs, cutLogprobs, versions, stop }: z.infer<typeof SampleJson>): Sample {
  return {
    tokens: Int32Array.from(tokens),
    logprobs: Float32Array.from(logprobs),
    versions: Int32Array.from(versions),
    stop,
    ...(cutLogprobs === undefined ? {} : { cutLogprobs: Float32Array.from(cutLogprobs) }),
  };
}

function placeOf(rollout = ""): number {
  let sum = 0;
  for (const character of rollout) sum = (sum * 31 + character.charCodeAt(0)) >>> 0;
  return sum;
}
