import { existsSync } from "node:fs";
import { join } from "node:path";
import { Checkpoints } from "../../checkpoint/checkpoints.ts";
import { embedded } from "../../engine/embedded/embedded.ts";
import type { Engine } from "../../engine/engine.ts";
import { LudusError } from "../../errors.ts";
import { loadTokenizer } from "../../policy/load-tokenizer.ts";
import type { Tokenizer } from "../../policy/tokenizer.ts";

export interface CheckpointPolicy {
  readonly engine: Pick<Engine, "sample" | "forward" | "release" | "info" | "close">;
  readonly tokenizer: Tokenizer;
  readonly step: number;
}

export type LoadEngine = (directory: string, tokenizer: Tokenizer) => Promise<CheckpointPolicy["engine"]>;

/** Leaves cores to the training that may be going on beside. */
export const loadEmbedded: LoadEngine = (folder, tokenizer) => embedded({ folder, tokenizer, threads: 1 });

const keptTokenizers = 8;

interface Loaded {
  readonly directory: string;
  readonly policy: Promise<CheckpointPolicy>;
}

/** Tokenizers and engines of runs' checkpoints, loaded when first asked for. One engine at a time is kept. */
export class CheckpointPolicies {
  readonly #load: LoadEngine;
  readonly #tokenizers = new Map<string, Promise<Tokenizer>>();
  #loaded: Loaded | undefined;
  /** Uses of the engine, one after the other: another checkpoint takes its place only between them. */
  #queue: Promise<unknown> = Promise.resolve();

  constructor(load: LoadEngine) {
    this.#load = load;
  }

  /** That of the newest checkpoint; undefined where there is none. */
  async tokenizer(runDirectory: string): Promise<Tokenizer | undefined> {
    const checkpoints = new Checkpoints(runDirectory);
    const folders = checkpoints.steps().map((step) => checkpoints.directory(step));
    const folder = folders.findLast((folder) => existsSync(join(folder, "tokenizer.json")));
    if (folder === undefined) return undefined;
    // a checkpoint may be removed while it is read; the next request finds another
    return this.#tokenizer(folder).catch(() => undefined);
  }

  /** Runs `work` with the engine of a checkpoint, the newest by default. */
  use<Value>(
    runDirectory: string,
    step: number | undefined,
    work: (policy: CheckpointPolicy) => Promise<Value>,
  ): Promise<Value> {
    const turn = this.#queue.then(async () => work(await this.#policy(runDirectory, step)));
    this.#queue = turn.catch(() => {});
    return turn;
  }

  async close(): Promise<void> {
    await this.#queue;
    await this.#drop();
  }

  async #policy(runDirectory: string, wanted: number | undefined): Promise<CheckpointPolicy> {
    const checkpoints = new Checkpoints(runDirectory);
    const step = wanted ?? checkpoints.steps().at(-1);
    const isLoaded = step !== undefined && this.#loaded?.directory === checkpoints.directory(step);
    if (step === undefined || !(isLoaded || checkpoints.steps().includes(step))) {
      throw new LudusError("no-such-checkpoint", {
        got: step === undefined ? "a run without checkpoints" : `step ${step}`,
        expected: "a checkpoint that is there",
        hint: "Runs keep the last ones only; load the page again.",
      });
    }
    const directory = checkpoints.directory(step);
    if (!isLoaded) await this.#drop();
    this.#loaded ??= { directory, policy: this.#start(directory, step) };
    try {
      return await this.#loaded.policy;
    } catch (error) {
      this.#loaded = undefined;
      throw error;
    }
  }

  async #start(directory: string, step: number): Promise<CheckpointPolicy> {
    const tokenizer = await this.#tokenizer(directory);
    return { engine: await this.#load(directory, tokenizer), tokenizer, step };
  }

  async #drop(): Promise<void> {
    const loaded = this.#loaded;
    this.#loaded = undefined;
    await loaded?.policy.then(({ engine }) => engine.close()).catch(() => {});
  }

  #tokenizer(folder: string): Promise<Tokenizer> {
    const tokenizer = this.#tokenizers.get(folder) ?? loadTokenizer(folder);
    tokenizer.catch(() => this.#tokenizers.delete(folder));
    this.#tokenizers.delete(folder);
    this.#tokenizers.set(folder, tokenizer);
    if (this.#tokenizers.size > keptTokenizers) this.#tokenizers.delete(this.#tokenizers.keys().next().value!);
    return tokenizer;
  }
}
