import { z } from "zod";
import { defined } from "../../defined.ts";
import { LudusError } from "../../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import type { Sample, SampleRequest } from "../engine.ts";
import type { PublishedWeights, Sampler } from "../sampler.ts";
import { VllmServer } from "./vllm-server.ts";
import type { WeightSender } from "./weight-sender.ts";
import { startWeightSender } from "./weight-sender-process.ts";

export interface VllmWeightsOptions {
  /** Of the server, such as "http://127.0.0.1:8000". */
  url: string;
  /** Sent as a bearer token. */
  apiKey?: string;
  /** Whether the server was started with `--logprobs-mode processed_logprobs`. Without it, only temperature 1 is accepted. */
  processedLogprobs?: boolean;
  /** What the server calls its model; its first one by default. */
  model?: string;
  /**
   * Sequences that are being sampled when weights come: "wait" lets them end first, with the old ones. "keep" holds them and goes on
   * with the new ones, at caches of the old ones; the server does not say which token is of which, so all carry the old version.
   */
  inFlight?: "wait" | "keep";
  /** The GPU that sends, of this machine and none of the server's; "cuda" by default. */
  device?: string;
  /** Of the weights on the way, and so of the server's; "bfloat16" by default. */
  dtype?: "bfloat16" | "float32";
  /** The Python that sends; as of `torch()` by default. */
  python?: string;
  /** Starts what sends the weights, in place of a Python process. */
  sender?: () => WeightSender;
}

const known: KnownOptions<VllmWeightsOptions> = {
  url: true,
  apiKey: true,
  processedLogprobs: true,
  model: true,
  inFlight: true,
  device: true,
  dtype: true,
  python: true,
  sender: true,
};

const Models = z.looseObject({ data: z.array(z.looseObject({ id: z.string() })).min(1) });
const WorldSize = z.looseObject({ world_size: z.number().int().positive() });

/**
 * Samples from a vLLM server that is sent whole weights after every step, with its own protocol for that: pause, start, update over NCCL,
 * finish, resume. Start it on GPUs, with vLLM 0.32 or newer:
 *
 *     VLLM_SERVER_DEV_MODE=1 vllm serve <folder> --weight-transfer-config '{"backend": "nccl"}' --logprobs-mode processed_logprobs
 *
 * Written against the documented calls and tested with a stand-in: it has not been tried on a real server.
 */
export function vllmWeights(options: VllmWeightsOptions): Sampler {
  refuseUnknownOptions("vllmWeights", options, known);
  return new VllmWeightsSampler(options);
}

class VllmWeightsSampler implements Sampler {
  readonly name = "vllm (whole weights)";
  readonly takes = "model";
  readonly #options: VllmWeightsOptions;
  readonly #server: VllmServer;
  #sender: WeightSender | undefined;
  #model: string | undefined;
  #version: number | undefined;

  constructor(options: VllmWeightsOptions) {
    this.#options = options;
    const { url, apiKey, processedLogprobs } = options;
    this.#server = new VllmServer({ url, ...defined({ apiKey, processedLogprobs }) });
    this.#model = options.model;
  }

  async use(weights: PublishedWeights): Promise<void> {
    if (weights.kind !== "model") {
      throw new LudusError("bad-option", {
        got: "an adapter for vllmWeights()",
        expected: "whole weights",
        hint: "vllm({ url }) takes adapters.",
      });
    }
    // until it ends well nobody samples: half of the weights may be new ones
    this.#version = undefined;
    try {
      this.#model ??= (await this.#server.get("/v1/models", Models)).data[0].id;
      this.#sender ??= await this.#connect();
      await this.#transfer(this.#sender, weights);
      this.#version = weights.version;
    } catch (error) {
      await this.#disconnect();
      throw error instanceof LudusError && error.code !== "sampler-refused" ? error : transferFailed(error);
    }
  }

  /** Both sides wait for each other in NCCL, so neither is waited for alone. */
  async #connect(): Promise<WeightSender> {
    const { sender: make, device, dtype, python } = this.#options;
    const { world_size: workers } = await this.#server.get("/get_world_size", WorldSize);
    const sender = make?.() ?? startWeightSender(defined({ device, dtype, python }));
    try {
      const ncclUniqueIdB64 = await sender.identify();
      const initInfo = { nccl_unique_id_b64: ncclUniqueIdB64, rank_offset: 1, world_size: workers + 1, packed: false };
      await together([
        this.#server.post("/init_weight_transfer_engine", { init_info: initInfo }),
        sender.join(workers + 1),
      ]);
      return sender;
    } catch (error) {
      await sender.close();
      throw error;
    }
  }

  async #transfer(sender: WeightSender, { directory, version }: PublishedWeights): Promise<void> {
    const { inFlight = "wait" } = this.#options;
    const updateInfo = await sender.describe(directory);
    await this.#server.post(`/pause?mode=${inFlight}`, {});
    await this.#server.post("/start_weight_update", {});
    await together([this.#server.post("/update_weights", { update_info: updateInfo }), sender.send(directory)]);
    await this.#server.post("/finish_weight_update", { weight_version: String(version) });
    // prefixes that were computed with the old weights
    if (inFlight === "keep") await this.#server.post("/reset_prefix_cache", {});
    await this.#server.post("/resume", {});
  }

  /** The server stays paused, if it was: the next `use` sends everything again and resumes it. */
  async #disconnect(): Promise<void> {
    const sender = this.#sender;
    this.#sender = undefined;
    if (sender === undefined) return;
    await sender.close();
    await this.#server.post("/shutdown_weight_transfer_engine", {}).catch(() => {});
  }

  async sample(request: SampleRequest, signal?: AbortSignal): Promise<Sample> {
    this.#server.check(request);
    const [model, version] = [this.#model, this.#version];
    if (model === undefined || version === undefined) {
      throw new LudusError("sampler-gone", { got: "a server that has not all weights", expected: "use() first" });
    }
    return await this.#server.complete(model, version, request, signal);
  }

  async close(): Promise<void> {
    await this.#disconnect();
  }
}

/** Waits for all; where one fails at once, for no other: it may wait for ever. */
async function together(work: readonly Promise<unknown>[]): Promise<void> {
  for (const each of work) each.catch(() => {});
  await Promise.all(work);
}

function transferFailed(cause: unknown): LudusError {
  return new LudusError("sampler-gone", {
    got: `weights that did not arrive: ${cause instanceof Error ? cause.message : String(cause)}`,
    expected: "a transfer that ends",
    cause,
  });
}
