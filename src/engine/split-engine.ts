import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { closedError } from "./closed-error.ts";
import { delegate } from "./delegate.ts";
import { type Engine, policyWeights, type Sample, type SampleRequest } from "./engine.ts";
import { goneCodes, type PublishedWeights, type Sampler } from "./sampler.ts";
import { SamplerRouter } from "./sampler-router.ts";

export interface SplitOptions {
  /** Trains, and samples from what is not the policy: snapshots, other learners. */
  trainer: Engine;
  /** Sample from the policy. They get its weights after every step. */
  samplers: readonly Sampler[];
  /** Where weights are published: a folder that all of them can read. One for temporary files by default. */
  directory?: string;
  /** How long a sampler may take to load weights before it is left out; 60 s by default. */
  useMs?: number;
  /** How often a sampler that was left out is tried again, besides after every step; 5 s by default. */
  retryMs?: number;
  /** Told when a sampler is left out and when it is back. */
  onSampler?: (news: SamplerNews) => void;
}

export interface SamplerNews {
  readonly sampler: string;
  readonly index: number;
  readonly state: "up" | "down";
  readonly reason?: string;
}

const known: KnownOptions<SplitOptions> = {
  trainer: true,
  samplers: true,
  directory: true,
  useMs: true,
  retryMs: true,
  onSampler: true,
};

/**
 * Trainer and samplers apart, behind the engine contract. Turns of a rollout go to the sampler that has its cache, and prompts that
 * begin alike to the same one. A sampler that dies is left out and its requests go to another, or to the trainer where none is left;
 * once it is back it is brought up to date.
 *
 *     const engine = splitEngine({ trainer, samplers: [embeddedSampler({ tokenizer }), embeddedSampler({ tokenizer })] });
 */
export function splitEngine(options: SplitOptions): Engine {
  refuseUnknownOptions("splitEngine", options, known);
  if (options.samplers.length === 0) {
    throw new LudusError("bad-option", {
      got: "no samplers",
      expected: "one or more",
      hint: "The trainer alone samples too.",
    });
  }
  return new SplitEngine(options).engine();
}

const onlyFor = { model: "weights", adapter: "adapter", shared: "shared" } as const;

class SplitEngine {
  readonly #options: SplitOptions;
  readonly #router: SamplerRouter;
  readonly #directory: string;
  readonly #published = new Map<PublishedWeights["kind"], PublishedWeights>();
  #publishing: Promise<void> | undefined;
  #retry: NodeJS.Timeout | undefined;
  #first: Promise<void> | undefined;
  #count = 0;
  #closing: Promise<void> | undefined;

  constructor(options: SplitOptions) {
    this.#options = options;
    this.#router = new SamplerRouter(options.samplers);
    this.#directory = mkdtempSync(join(options.directory ?? tmpdir(), "ludus-weights-"));
  }

  engine(): Engine {
    const { trainer } = this.#options;
    return delegate(trainer, {
      sample: (request, signal) => this.#sample(request, signal),
      step: async (options) => {
        const report = await trainer.step(options);
        if (report.applied && (options.weights ?? policyWeights) === policyWeights) await this.#publish();
        return report;
      },
      load: async (directory, options) => {
        await trainer.load(directory, options);
        await this.#publish();
      },
      release: async (kept) => {
        if (kept.rollout !== undefined) await this.#router.release(kept.rollout);
        await trainer.release(kept);
      },
      close: () => {
        this.#closing ??= this.#close();
        return this.#closing;
      },
    });
  }

  async #sample(request: SampleRequest, signal: AbortSignal | undefined): Promise<Sample> {
    const { trainer } = this.#options;
    if ((request.weights ?? policyWeights) !== policyWeights) return trainer.sample(request, signal);
    if (this.#published.size === 0) await this.#publishFirst();
    for (;;) {
      signal?.throwIfAborted();
      if (this.#closing !== undefined) throw closedError("sample");
      const route = this.#router.route(request);
      if (route === undefined) return trainer.sample(request, signal);
      try {
        return await route.sampler.sample(request, signal);
      } catch (error) {
        signal?.throwIfAborted();
        if (!(error instanceof LudusError && goneCodes.includes(error.code))) throw error;
        this.#leaveOut(route.index, error.message);
      } finally {
        route.done();
      }
    }
  }

  #publishFirst(): Promise<void> {
    this.#first ??= this.#publish().finally(() => {
      this.#first = undefined;
    });
    return this.#first;
  }

  /** One after the other: each publishes the weights as they are then. */
  #publish(): Promise<void> {
    const work = (this.#publishing ?? Promise.resolve()).then(() => this.#save());
    this.#publishing = work.catch(() => {});
    return work;
  }

  async #save(): Promise<void> {
    const { trainer, samplers } = this.#options;
    if (this.#closing !== undefined) return;
    const version = trainer.info.policyVersion;
    const number = this.#count++;
    for (const kind of new Set(samplers.map(({ takes }) => takes))) {
      const directory = join(this.#directory, `${kind}-${number}`);
      await trainer.save(directory, { only: onlyFor[kind] });
      const old = this.#published.get(kind);
      this.#published.set(kind, { directory, version, kind });
      await Promise.all(samplers.map((sampler, i) => (sampler.takes === kind ? this.#bring(i) : undefined)));
      if (old !== undefined) rmSync(old.directory, { recursive: true, force: true });
    }
  }

  /** Gives a sampler the weights that were published last. */
  async #bring(index: number): Promise<void> {
    const sampler = this.#options.samplers[index];
    const weights = this.#published.get(sampler.takes);
    if (weights === undefined || this.#closing !== undefined) return;
    try {
      await within(sampler.use(weights), this.#options.useMs ?? 60_000, sampler.name);
      if (this.#router.setUp(index, true)) this.#tell(index, "up");
    } catch (error) {
      this.#leaveOut(index, error instanceof Error ? error.message : String(error));
    }
  }

  #leaveOut(index: number, reason: string): void {
    if (this.#router.setUp(index, false)) this.#tell(index, "down", reason);
    if (this.#retry !== undefined || this.#closing !== undefined) return;
    this.#retry = setTimeout(() => this.#tryAgain(), this.#options.retryMs ?? 5_000).unref();
  }

  /** In turn with publishing: a sampler that is back must not end up with older weights. */
  #tryAgain(): void {
    this.#retry = undefined;
    const bring = () => Promise.all(this.#router.down().map((index) => this.#bring(index)));
    this.#publishing = (this.#publishing ?? Promise.resolve()).then(async () => void (await bring()));
  }

  #tell(index: number, state: SamplerNews["state"], reason?: string): void {
    const { samplers, onSampler } = this.#options;
    onSampler?.({ sampler: samplers[index].name, index, state, ...(reason === undefined ? {} : { reason }) });
  }

  async #close(): Promise<void> {
    clearTimeout(this.#retry);
    await this.#publishing;
    await Promise.allSettled(this.#options.samplers.map((sampler) => sampler.close?.()));
    rmSync(this.#directory, { recursive: true, force: true });
    await this.#options.trainer.close();
  }
}

async function within(work: Promise<void>, milliseconds: number, name: string): Promise<void> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const expected = "weights that are loaded in time";
    late.reject(new LudusError("sampler-gone", { got: `${name} after ${milliseconds} ms`, expected }));
  }, milliseconds);
  try {
    await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
    work.catch(() => {});
  }
}
