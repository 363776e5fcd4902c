import { z } from "zod";
import { defined } from "../../defined.ts";
import { LudusError } from "../../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import type { Sample, SampleRequest, SampleStop } from "../engine.ts";
import type { PublishedWeights, Sampler } from "../sampler.ts";

export interface VllmOptions {
  /** Of the server, such as "http://127.0.0.1:8000". It must see the folders this program writes adapters to. */
  url: string;
  /** Sent as a bearer token. */
  apiKey?: string;
  /** Whether the server was started with `--logprobs-mode processed_logprobs`. Without it, only temperature 1 is accepted. */
  processedLogprobs?: boolean;
  /** What the server calls the adapters; several programs at one server need several names. */
  name?: string;
}

const knownVllmOptions: KnownOptions<VllmOptions> = { url: true, apiKey: true, processedLogprobs: true, name: true };

const Completion = z.object({
  choices: z.tuple([
    z.looseObject({
      finish_reason: z.string().nullish(),
      stop_reason: z.union([z.string(), z.number()]).nullish(),
      logprobs: z.looseObject({
        tokens: z.array(z.string()),
        token_logprobs: z.array(z.number()),
        top_logprobs: z.array(z.record(z.string(), z.number()).nullable()).nullish(),
      }),
    }),
  ]),
});
type Choice = z.infer<typeof Completion>["choices"][0];

/**
 * Samples from vLLM's OpenAI-compatible server: token ids in and out, the policy's adapter loaded after every step. Start it with
 *
 *     VLLM_ALLOW_RUNTIME_LORA_UPDATING=True vllm serve <the base> --enable-lora --logprobs-mode processed_logprobs
 *
 * Seeds are passed on; the same seed repeats a sample only as far as the server promises it.
 */
export function vllm(options: VllmOptions): Sampler {
  refuseUnknownOptions("vllm", options, knownVllmOptions);
  return new VllmSampler(options);
}

class VllmSampler implements Sampler {
  readonly name = "vllm";
  readonly takes = "adapter";
  readonly #options: VllmOptions;
  #adapter: (PublishedWeights & { model: string }) | undefined;
  /** Samples still running on each adapter. */
  readonly #running = new Map<string, number>();

  constructor(options: VllmOptions) {
    this.#options = options;
  }

  async use(adapter: PublishedWeights): Promise<void> {
    if (adapter.kind !== "adapter") throw wholeWeights();
    const old = this.#adapter;
    const model = `${this.#options.name ?? "ludus"}-${adapter.version}`;
    if (old?.model === model) await this.#unload(model);
    await this.#post("/v1/load_lora_adapter", { lora_name: model, lora_path: adapter.directory });
    this.#adapter = { ...adapter, model };
    if (old !== undefined && old.model !== model && !this.#running.has(old.model)) await this.#unload(old.model);
  }

  async #unload(model: string): Promise<void> {
    await this.#post("/v1/unload_lora_adapter", { lora_name: model });
  }

  async sample(request: SampleRequest, signal?: AbortSignal): Promise<Sample> {
    this.#check(request);
    const adapter = this.#adapter;
    if (adapter === undefined)
      throw new LudusError("no-adapter", { got: "a sample before the first adapter", expected: "use() first" });
    const { model, version } = adapter;
    this.#running.set(model, (this.#running.get(model) ?? 0) + 1);
    try {
      const reply = await this.#post("/v1/completions", { model, ...completionRequest(request) }, signal);
      return toSample(parse(reply).choices[0], request, version);
    } finally {
      const left = this.#running.get(model)! - 1;
      if (left > 0) this.#running.set(model, left);
      else {
        this.#running.delete(model);
        if (this.#adapter?.model !== model) await this.#unload(model);
      }
    }
  }

  /** Refuses options that the server cannot report as the contract asks. */
  #check({ temperature = 1, topP = 1, topK }: SampleRequest): void {
    if (topP < 1 || topK !== undefined) {
      throw new LudusError("bad-option", {
        got: `${topP < 1 ? `topP = ${topP}` : `topK = ${topK}`} with vLLM`,
        expected: "no cut: the server reports log-probabilities before or after the cut, and both are needed",
        hint: "Leave out topP and topK, or sample without `sampler`.",
      });
    }
    if (temperature !== 1 && temperature !== 0 && this.#options.processedLogprobs !== true) {
      throw new LudusError("bad-option", {
        got: `temperature = ${temperature} with raw log-probabilities`,
        expected: "temperature 1, or log-probabilities at the temperature of the sampling",
        hint: "Start vLLM with --logprobs-mode processed_logprobs and say so: vllm({ url, processedLogprobs: true }).",
      });
    }
  }

  async #post(path: string, body: unknown, signal?: AbortSignal): Promise<string> {
    const { url, apiKey } = this.#options;
    const headers = {
      "content-type": "application/json",
      ...defined({ authorization: apiKey === undefined ? undefined : `Bearer ${apiKey}` }),
    };
    const init = { method: "POST", headers, body: JSON.stringify(body), ...defined({ signal }) };
    let response: Response;
    let text: string;
    try {
      response = await fetch(new URL(path, url), init);
      text = await response.text();
    } catch (cause) {
      signal?.throwIfAborted();
      throw new LudusError("sampler-unreachable", {
        got:
          cause instanceof Error
            ? `${cause.message}${cause.cause instanceof Error ? `: ${cause.cause.message}` : ""}`
            : "",
        expected: `a vLLM server at ${url}`,
        cause,
      });
    }
    if (response.ok) return text;
    throw new LudusError("sampler-refused", {
      got: `${response.status} for ${path}: ${text.slice(0, 500)}`,
      expected: "200",
      ...defined({
        hint: path.includes("lora")
          ? "The server needs --enable-lora and VLLM_ALLOW_RUNTIME_LORA_UPDATING=True, and must see the folder."
          : undefined,
      }),
    });
  }
}

function wholeWeights(): LudusError {
  return new LudusError("bad-option", {
    got: "whole weights for vLLM",
    expected: "an adapter: the trainer must be made with `lora`",
    hint: "vLLM's own transfer of whole weights needs GPUs and is not written yet.",
  });
}

function completionRequest(request: SampleRequest): Record<string, unknown> {
  return {
    prompt: Array.from(request.tokens),
    max_tokens: request.maxTokens,
    temperature: request.temperature ?? 1,
    seed: request.seed,
    stop_token_ids: request.stopTokens ?? [],
    ...defined({ stop: request.stopStrings }),
    // the model's own end counts only where it is asked for
    ignore_eos: true,
    skip_special_tokens: false,
    logprobs: request.alternatives ?? 0,
    return_tokens_as_token_ids: true,
  };
}

function parse(reply: string): z.infer<typeof Completion> {
  let json: unknown;
  try {
    json = JSON.parse(reply);
  } catch {
    json = undefined;
  }
  const parsed = Completion.safeParse(json);
  if (parsed.success) return parsed.data;
  throw new LudusError("sampler-refused", {
    got: `${reply.slice(0, 300)} (${parsed.error.issues[0].message})`,
    expected: "a completion with log-probabilities",
    cause: parsed.error,
  });
}

/** "token_id:17" is how the server names tokens when asked for ids. */
function tokenId(name: string): number {
  const id = /^token_id:(\d+)$/.exec(name)?.[1];
  if (id === undefined) {
    throw new LudusError("sampler-refused", {
      got: `the token "${name}"`,
      expected: "token_id:<number>",
      hint: "The server does not know return_tokens_as_token_ids; use a newer vLLM.",
    });
  }
  return Number(id);
}

function toSample(choice: Choice, request: SampleRequest, version: number): Sample {
  const { tokens: names, token_logprobs: logprobs, top_logprobs: top } = choice.logprobs;
  const tokens = Int32Array.from(names, tokenId);
  const count = request.alternatives;
  return {
    tokens,
    logprobs: Float32Array.from(logprobs),
    versions: new Int32Array(tokens.length).fill(version),
    stop: stopOf(choice, tokens, request),
    ...defined({ alternatives: count === undefined ? undefined : alternativesOf(top ?? [], count) }),
  };
}

function stopOf(choice: Choice, tokens: Int32Array, { maxTokens, stopTokens = [] }: SampleRequest): SampleStop {
  if (choice.finish_reason === "stop") {
    if (typeof choice.stop_reason === "string") return "stop-string";
    if (stopTokens.includes(tokens.at(-1) ?? -1)) return "stop-token";
  }
  return tokens.length >= maxTokens ? "max-tokens" : "context-full";
}

function alternativesOf(top: readonly (Record<string, number> | null)[], count: number) {
  const tokens = new Int32Array(top.length * count);
  const logprobs = new Float32Array(top.length * count);
  top.forEach((known, t) => {
    // the sampled token is there too, even where it is not among the most probable
    const best = Object.entries(known ?? {}).sort((a, b) => b[1] - a[1] || tokenId(a[0]) - tokenId(b[0]));
    best.slice(0, count).forEach(([name, logprob], k) => {
      tokens[t * count + k] = tokenId(name);
      logprobs[t * count + k] = logprob;
    });
  });
  return { count, tokens, logprobs };
}
