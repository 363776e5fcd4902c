import { LudusError } from "../../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import type { Sample, SampleRequest } from "../engine.ts";
import type { PublishedWeights, Sampler } from "../sampler.ts";
import { VllmServer } from "./vllm-server.ts";

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
  readonly #prefix: string;
  readonly #server: VllmServer;
  #adapter: (PublishedWeights & { model: string }) | undefined;
  /** Samples still running on each adapter. */
  readonly #running = new Map<string, number>();

  constructor(options: VllmOptions) {
    const { name = "ludus", ...server } = options;
    this.#prefix = name;
    this.#server = new VllmServer(server);
  }

  async use(adapter: PublishedWeights): Promise<void> {
    if (adapter.kind !== "adapter") throw wholeWeights();
    const old = this.#adapter;
    const model = `${this.#prefix}-${adapter.version}`;
    if (old?.model === model) await this.#unload(model);
    await this.#server.post("/v1/load_lora_adapter", { lora_name: model, lora_path: adapter.directory });
    this.#adapter = { ...adapter, model };
    if (old !== undefined && old.model !== model && !this.#running.has(old.model)) await this.#unload(old.model);
  }

  async #unload(model: string): Promise<void> {
    await this.#server.post("/v1/unload_lora_adapter", { lora_name: model });
  }

  async sample(request: SampleRequest, signal?: AbortSignal): Promise<Sample> {
    this.#server.check(request);
    const adapter = this.#adapter;
    if (adapter === undefined)
      throw new LudusError("no-adapter", { got: "a sample before the first adapter", expected: "use() first" });
    const { model, version } = adapter;
    this.#running.set(model, (this.#running.get(model) ?? 0) + 1);
    try {
      return await this.#server.complete(model, version, request, signal);
    } finally {
      const left = this.#running.get(model)! - 1;
      if (left > 0) this.#running.set(model, left);
      else {
        this.#running.delete(model);
        if (this.#adapter?.model !== model) await this.#unload(model);
      }
    }
  }
}

function wholeWeights(): LudusError {
  return new LudusError("bad-option", {
    got: "whole weights for vLLM",
    expected: "an adapter: the trainer must be made with `lora`",
    hint: "vllmWeights({ url }) sends whole weights over NCCL.",
  });
}
