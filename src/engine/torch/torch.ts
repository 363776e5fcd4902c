import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { defined } from "../../defined.ts";
import { LudusError } from "../../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import type { Tokenizer } from "../../policy/tokenizer.ts";
import { checkDerivatives, checkOptimizer, checkSampleRequest, checkTokenBatch, noAdapter } from "../check-request.ts";
import {
  type Derivatives,
  type Engine,
  type EngineInfo,
  type Forward,
  type ForwardOptions,
  type LoadOptions,
  type OptimizerOptions,
  policyWeights,
  type Sample,
  type SampleRequest,
  type SaveOptions,
  type SnapshotOptions,
  type StepReport,
  type TokenBatch,
} from "../engine.ts";
import { type ModelConfig, toHuggingFaceConfig } from "../model/model-config.ts";
import { checkRopeLength } from "../model/rope.ts";
import type { Sampler } from "../sampler.ts";
import { Connection, type TlsOptions } from "./connection.ts";
import type { State } from "./engine_pb.ts";
import { findPython } from "./find-python.ts";
import { backwardMessage, bytesOf, forwardMessage, stepMessage, toForward } from "./messages.ts";
import { SampleStream } from "./sample-stream.ts";
import { WorkerProcess } from "./worker-process.ts";

export interface LoraOptions {
  rank: number;
  /** Twice the rank by default. */
  alpha?: number;
  /** Names of linear layers such as "q_proj"; all but the head by default. */
  targets?: readonly string[];
}

const knownLoraOptions: KnownOptions<LoraOptions> = { rank: true, alpha: true, targets: true };

export interface TorchOptions {
  /** A preset such as `models.small({ vocabularySize })`, any config of its families, or nothing with `folder`. */
  model?: ModelConfig;
  /** A Hugging Face folder to start from, where the worker runs: any causal language model that transformers knows. */
  folder?: string;
  /** Saved with the model; needed for stop strings. */
  tokenizer?: Tokenizer;
  valueHead?: boolean;
  /** For the initial weights; the same as the embedded engine's. */
  seed?: number;
  /** "cuda", "cuda:1", "cpu", …; a GPU where there is one by default. */
  device?: string;
  /** Of the computation; weights and optimizer are float32. "bfloat16" on a GPU by default, "float32" on the CPU. */
  dtype?: "float32" | "bfloat16";
  /** Train adapters and leave the weights as they are. */
  lora?: LoraOptions;
  /** Keep less for the backward pass and compute it again. */
  checkpointActivations?: boolean;
  /** `torch.compile`; on a GPU by default. Models that transformers computes are not compiled. */
  compile?: boolean;
  /** Tokens of one pass while training. Halved when memory runs out. */
  microBatchTokens?: number;
  /** Sequences decoded at the same time. */
  maxRows?: number;
  maxCacheBytes?: number;
  /** Processor threads of the worker. */
  threads?: number;
  /** The Python to start the worker with; `LUDUS_PYTHON`, `.venv` and `python3` are looked at by default. */
  python?: string;
  /** Processes on this machine, one per GPU, started under torchrun. */
  processes?: number;
  /** "host:port" of a running worker, instead of starting one. */
  connect?: string;
  tls?: TlsOptions;
  /** The running worker's LUDUS_WORKER_TOKEN. */
  token?: string;
  /** Plain text to another machine, on a network you trust. */
  insecure?: boolean;
  /** Takes the worker's log, line by line; standard error by default. */
  log?: (line: string) => void;
  /** Samples from the policy elsewhere, such as `vllm({ url })`. Needs `lora`. */
  sampler?: Sampler;
}

export const knownTorchOptions: KnownOptions<TorchOptions> = {
  model: true,
  folder: true,
  tokenizer: true,
  valueHead: true,
  seed: true,
  device: true,
  dtype: true,
  lora: true,
  checkpointActivations: true,
  compile: true,
  microBatchTokens: true,
  maxRows: true,
  maxCacheBytes: true,
  threads: true,
  python: true,
  processes: true,
  connect: true,
  tls: true,
  token: true,
  insecure: true,
  log: true,
  sampler: true,
};

/** The engine on PyTorch: the same program on GPUs. Starts a Python worker, or connects to one. */
export async function torch(options: TorchOptions): Promise<Engine> {
  refuseUnknownOptions("torch", options, knownTorchOptions);
  refuseUnknownOptions("torch: lora", options.lora, knownLoraOptions);
  checkOptions(options);
  const token = options.connect === undefined ? randomUUID() : (options.token ?? process.env.LUDUS_WORKER_TOKEN ?? "");
  const log = options.log ?? ((line) => process.stderr.write(`[torch] ${line}\n`));
  const worker =
    options.connect === undefined
      ? new WorkerProcess({
          python: findPython(options.python, options.lora !== undefined),
          token,
          processes: options.processes ?? 1,
          log,
        })
      : undefined;
  let connection: Connection | undefined;
  try {
    const address = options.connect ?? `127.0.0.1:${await worker!.port()}`;
    const { tls, insecure = false } = options;
    connection = new Connection({ address, token, session: randomUUID(), tls, insecure, process: worker });
    await connection.hello();
    const engine = new TorchEngine(options, connection, worker);
    await engine.open();
    return engine;
  } catch (error) {
    connection?.close();
    await worker?.close();
    throw error;
  }
}

function checkOptions({ model, folder, lora, sampler }: TorchOptions): void {
  if (model !== undefined) checkRopeLength(model);
  if (model === undefined && folder === undefined) {
    throw new LudusError("no-model", {
      got: "neither `model` nor `folder`",
      expected: "one of them",
      hint: "For example torch({ model: models.small({ vocabularySize: 259 }) }).",
    });
  }
  if (sampler !== undefined && lora === undefined) {
    throw new LudusError("bad-option", {
      got: `sampler ${sampler.name} without \`lora\``,
      expected: "`lora`: after each step the server loads the new adapter; whole weights it could not",
    });
  }
}

class TorchEngine implements Engine {
  readonly #options: TorchOptions;
  readonly #connection: Connection;
  readonly #samples: SampleStream;
  readonly #worker: WorkerProcess | undefined;
  readonly #session: string;
  readonly #forwards = new WeakMap<Forward, TokenBatch>();
  // a forward that nobody holds any more is released in the worker too
  readonly #forgotten = new FinalizationRegistry<number>((id) => this.#forget(id));
  #toForget: bigint[] = [];
  #adapters: string | undefined;
  #nextId = 0;
  #info: EngineInfo | undefined;

  constructor(options: TorchOptions, connection: Connection, worker: WorkerProcess | undefined) {
    this.#options = options;
    this.#connection = connection;
    this.#samples = new SampleStream(connection);
    this.#worker = worker;
    this.#session = connection.session;
  }

  get info(): EngineInfo {
    return this.#info!;
  }

  async open(): Promise<void> {
    const { model, folder, tokenizer, valueHead, lora, compile, checkpointActivations } = this.#options;
    const bytes = tokenizer && Array.from({ length: tokenizer.vocabularySize }, (_, id) => tokenizer.tokenBytes(id));
    const state = await this.#connection.call("open", (client, options) =>
      client.open(
        {
          configJson: model === undefined ? "" : JSON.stringify(toHuggingFaceConfig(model)),
          folder: folder === undefined ? "" : this.#path(folder),
          ...defined({ valueHead }),
          seed: BigInt(this.#options.seed ?? 0),
          device: this.#options.device ?? "",
          dtype: this.#options.dtype ?? "",
          threads: this.#options.threads ?? 0,
          ...defined({
            lora:
              lora === undefined
                ? undefined
                : { rank: lora.rank, alpha: lora.alpha ?? 2 * lora.rank, targets: [...(lora.targets ?? [])] },
            checkpointActivations,
            compile,
          }),
          microBatchTokens: this.#options.microBatchTokens ?? 0,
          maxRows: this.#options.maxRows ?? 0,
          maxCacheBytes: BigInt(this.#options.maxCacheBytes ?? 0),
          tokenizerFiles: { ...tokenizer?.files() },
          tokenBytes: Buffer.concat(bytes ?? []),
          tokenLengths: bytesOf(Int32Array.from(bytes ?? [], ({ length }) => length)),
          session: this.#session,
        },
        options,
      ),
    );
    this.#take(state);
    await this.#publish();
  }

  #take(state: State): void {
    this.#info = {
      name: "torch",
      device: state.device,
      implementation: state.implementation === "transformers" ? "transformers" : "own",
      vocabularySize: state.vocabularySize,
      contextLength: state.contextLength,
      parameters: Number(state.parameters),
      hasValues: state.hasValues,
      ...(this.#options.lora === undefined ? {} : { hasAdapters: true }),
      policyVersion: state.policyVersion,
      weights: state.weights,
    };
  }

  /** Paths are resolved here for a worker that this engine started; on another machine they are relative to the worker. */
  #path(directory: string): string {
    return this.#worker === undefined ? directory : resolve(directory);
  }

  async sample(request: SampleRequest, signal?: AbortSignal): Promise<Sample> {
    checkSampleRequest(this.info, request);
    signal?.throwIfAborted();
    const { sampler } = this.#options;
    if (sampler !== undefined && (request.weights ?? policyWeights) === policyWeights)
      return await sampler.sample(request, signal);
    return await this.#samples.sample(request, signal);
  }

  async forward(batch: TokenBatch, options: ForwardOptions = {}): Promise<Forward> {
    checkTokenBatch(this.info, batch, options);
    const id = this.#nextId++;
    const message = forwardMessage(id, batch, options);
    const reply = await this.#connection.call("forward", (client, more) => client.forward(message, more));
    const forward = { ...toForward(reply, batch, options), id, policyVersion: this.info.policyVersion };
    this.#forwards.set(forward, batch);
    this.#forgotten.register(forward, id, forward);
    return forward;
  }

  async backward(forward: Forward, derivatives: Derivatives): Promise<void> {
    const batch = this.#forwards.get(forward);
    if (batch === undefined) {
      throw new LudusError("unknown-forward", {
        got: `forward ${forward.id}`,
        expected: "a result of this engine's forward() that has not been used for a backward pass",
        hint: "Each forward pass serves one backward pass; call forward() again.",
      });
    }
    checkDerivatives(batch, forward, derivatives);
    const message = backwardMessage(forward.id, derivatives);
    await this.#connection.call("backward", (client, options) => client.backward(message, options));
    this.#forwards.delete(forward);
    this.#forgotten.unregister(forward);
  }

  async step(options: OptimizerOptions): Promise<StepReport> {
    checkOptimizer(this.info, options);
    const message = stepMessage(options);
    const reply = await this.#connection.call("step", (client, more) => client.step(message, more));
    const { gradientNorm, applied, clipped, policyVersion } = reply;
    this.#info = { ...this.info, policyVersion };
    if (applied && message.weights === policyWeights) await this.#publish();
    return { gradientNorm, applied, clipped, policyVersion };
  }

  /** Loads the policy's adapter into the server that samples from it. */
  async #publish(): Promise<void> {
    const { sampler } = this.#options;
    if (sampler === undefined) return;
    this.#adapters ??= mkdtempSync(join(tmpdir(), "ludus-adapters-"));
    const { policyVersion } = this.info;
    const directory = join(this.#adapters, `policy-${policyVersion}`);
    await this.#connection.call("save", (client, options) => client.save({ directory, adapterOnly: true }, options));
    await sampler.use({ directory, version: policyVersion, kind: "adapter" });
    rmSync(join(this.#adapters, `policy-${policyVersion - 2}`), { recursive: true, force: true });
  }

  async snapshot(name: string, { from = policyWeights, trainable = false }: SnapshotOptions = {}): Promise<void> {
    this.#take(
      await this.#connection.call("snapshot", (client, more) => client.snapshot({ name, from, trainable }, more)),
    );
  }

  async release({ weights = "", rollout = "" }: { weights?: string; rollout?: string }): Promise<void> {
    if (rollout !== "") this.#samples.release(rollout);
    if (weights === "") return;
    this.#take(await this.#connection.call("release", (client, more) => client.release({ weights }, more)));
  }

  #forget(id: number): void {
    this.#toForget.push(BigInt(id));
    if (this.#toForget.length > 1) return;
    setImmediate(() => {
      const forwards = this.#toForget;
      this.#toForget = [];
      // nobody waits for this, and a worker that is gone has nothing left to release
      void this.#connection.call("release", (client, more) => client.release({ forwards }, more)).catch(() => {});
    }).unref();
  }

  async save(directory: string, { only }: SaveOptions = {}): Promise<void> {
    if (only === "adapter" && this.#options.lora === undefined) throw noAdapter("torch");
    const request = {
      directory: this.#path(directory),
      adapterOnly: only === "adapter",
      weightsOnly: only === "weights" || only === "shared",
      shared: only === "shared",
    };
    await this.#connection.call("save", (client, options) => client.save(request, options));
  }

  async load(directory: string, { optimizer = "keep" }: LoadOptions = {}): Promise<void> {
    const request = { directory: this.#path(directory), freshOptimizer: optimizer === "fresh" };
    this.#take(await this.#connection.call("load", (client, options) => client.load(request, options)));
    await this.#publish();
  }

  async close(): Promise<void> {
    this.#connection.close();
    await this.#worker?.close();
    if (this.#adapters !== undefined) rmSync(this.#adapters, { recursive: true, force: true });
  }
}
