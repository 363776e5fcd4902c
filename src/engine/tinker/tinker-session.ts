import type { z } from "zod";
import { defined } from "../../defined.ts";
import { errorText, LudusError } from "../../errors.ts";
import { Gate } from "./gate.ts";
import { Anything, Created, ModelCreated, SamplerSaved, SavedPath, type TinkerServer } from "./messages.ts";
import type { TinkerClient } from "./tinker-client.ts";

const unloadMs = 10_000;

/** Weights with an adapter and an optimizer of their own at the server. */
export interface RemoteWeights {
  readonly name: string;
  readonly modelId: string;
  readonly isTrainable: boolean;
  readonly gate: Gate;
  version: number;
  /** Of the weights as they are; absent until somebody samples. */
  sampler?: Promise<{ readonly session: string; readonly version: number }>;
}

export interface SessionOptions {
  readonly client: TinkerClient;
  readonly server: TinkerServer;
  readonly model: string;
  readonly lora: { readonly rank: number; readonly seed?: number };
  readonly heartbeatMs: number;
  readonly log: (line: string) => void;
}

/** A session at a server and the models in it. The server is told in between that the client is still there. */
export class TinkerSession {
  readonly #options: SessionOptions;
  readonly #id: string;
  readonly #heartbeat: NodeJS.Timeout;
  /** Requests of a model are numbered and arrive in this order. */
  readonly #order = new Map<string, { next: number; last: Promise<unknown> }>();
  #models = 0;
  #samplers = 0;
  #samples = 0;
  #ended: LudusError | undefined;
  #isSilent = false;

  static async open(options: SessionOptions): Promise<TinkerSession> {
    const body = { tags: ["ludus"], user_metadata: null, sdk_version: "ludus", type: "create_session" };
    const { session_id: id } = await options.client.post("create_session", body, Created);
    return new TinkerSession(options, id);
  }

  private constructor(options: SessionOptions, id: string) {
    this.#options = options;
    this.#id = id;
    this.#heartbeat = setInterval(() => void this.#beat(), options.heartbeatMs).unref();
  }

  async #beat(): Promise<void> {
    const { client, log } = this.#options;
    try {
      await client.post("session_heartbeat", { session_id: this.#id, type: "session_heartbeat" }, Anything);
      this.#isSilent = false;
    } catch (error) {
      if (error instanceof LudusError && error.code === "server-refused") this.#ended = sessionEnded(error);
      if (!this.#isSilent) log(`the session's heartbeat failed: ${errorText(error)}`);
      this.#isSilent = true;
    }
  }

  /** A new adapter on the base. */
  async createModel(name: string, isTrainable: boolean): Promise<RemoteWeights> {
    const { client, model, lora, server } = this.#options;
    const body = {
      session_id: this.#id,
      model_seq_id: this.#models++,
      base_model: model,
      lora_config: { rank: lora.rank, ...defined({ seed: lora.seed }) },
      type: "create_model",
    };
    const { model_id: modelId } = await client.compute("create_model", body, ModelCreated);
    this.#order.set(modelId, { next: 1, last: Promise.resolve() });
    return { name, modelId, isTrainable, gate: new Gate(server === "skyrl-tx"), version: 0 };
  }

  /** Submits a request of a model after those that were made before, and waits for its result. */
  async request<Schema extends z.ZodType>(
    { modelId }: Pick<RemoteWeights, "modelId">,
    path: string,
    body: object,
    schema: Schema,
    isOnce = false,
  ): Promise<z.output<Schema>> {
    if (this.#ended !== undefined) throw this.#ended;
    const { client } = this.#options;
    const order = this.#order.get(modelId)!;
    const seqId = order.next++;
    const submitted = order.last.then(() =>
      client.submit(path, { model_id: modelId, seq_id: seqId, ...body }, { isOnce }),
    );
    order.last = submitted.catch(() => {});
    return client.result(path, await submitted, schema);
  }

  async saveState(weights: RemoteWeights, name: string): Promise<string> {
    return (await this.request(weights, "save_weights", { path: name, type: "save_weights" }, SavedPath)).path;
  }

  async loadState(weights: RemoteWeights, path: string, optimizer: boolean): Promise<void> {
    await this.request(weights, "load_weights", { path, optimizer, type: "load_weights" }, Anything);
  }

  /** The path of an adapter that can be downloaded. */
  async saveAdapter(weights: RemoteWeights, name: string): Promise<string> {
    const body = { path: name, type: "save_weights_for_sampler" };
    return (await this.request(weights, "save_weights_for_sampler", body, SavedPath)).path;
  }

  /** Where the weights as they are now can be sampled from. */
  sampler(weights: RemoteWeights): Promise<{ session: string; version: number }> {
    weights.sampler ??= this.#openSampler(weights).catch((error: unknown) => {
      delete weights.sampler;
      throw error;
    });
    return weights.sampler;
  }

  async #openSampler(weights: RemoteWeights): Promise<{ session: string; version: number }> {
    const { version } = weights;
    const body = { sampling_session_seq_id: this.#samplers++, type: "save_weights_for_sampler" };
    const saved = await this.request(weights, "save_weights_for_sampler", body, SamplerSaved);
    return { session: saved.sampling_session_id, version };
  }

  async sample<Schema extends z.ZodType>(session: string, body: object, schema: Schema): Promise<z.output<Schema>> {
    if (this.#ended !== undefined) throw this.#ended;
    const request = { sampling_session_id: session, seq_id: this.#samples++, num_samples: 1, type: "sample", ...body };
    return this.#options.client.compute("asample", request, schema);
  }

  async unload(weights: RemoteWeights, { isLast }: { isLast: boolean }): Promise<void> {
    const body = { model_id: weights.modelId, type: "unload_model" };
    // close() does not wait for long: the server frees them anyway once it hears nothing more
    const call = isLast ? { signal: AbortSignal.timeout(unloadMs), isLast } : {};
    await this.#options.client.compute("unload_model", body, Anything, call);
    this.#order.delete(weights.modelId);
  }

  /** From now on the server is told nothing; it frees what is left when it has heard nothing for a while. */
  close(): void {
    clearInterval(this.#heartbeat);
    this.#options.client.stop();
  }
}

function sessionEnded(cause: LudusError): LudusError {
  return new LudusError("connection-lost", {
    got: `a session that the server has ended: ${cause.details.got}`,
    expected: "one that is kept while the program runs",
    hint: "The machine may have slept. A run with `run` goes on from its last checkpoint when it is started again.",
    cause,
  });
}
