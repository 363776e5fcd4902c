import { setImmediate } from "node:timers/promises";
import { LudusError } from "../../errors.ts";
import { ActiveRequest } from "../active-request.ts";
import type { OptimizerOptions, Sample, SampleRequest } from "../engine.ts";
import { DecodeGroups } from "./decode-groups.ts";
import type { Decoder } from "./decoder.ts";
import { tokenBytes as cacheBytes } from "./page-cache.ts";
import type { Rotation } from "./rotation.ts";
import { type Row, Rows, type RowsOptions } from "./rows.ts";

export interface SamplerOptions extends RowsOptions {
  decoder: Decoder;
  /** The most bytes of KV cache that the rows of a decode group may have. */
  decodeGroupBytes: number;
  rotation: Rotation;
  tokenBytes: readonly Uint8Array[] | undefined;
  /** The version of the weights of a name. */
  version(name: string): number;
  finish(id: number, result: Sample | LudusError): void;
}

/** Tokens prefilled in one step: enough to be efficient, few enough that decoding rows do not wait long. */
const prefillTokensPerStep = 512;

/** The most tokens of a step: one of each decoding row, and those of prefill. */
export function maxStepTokens(maxRows: number): number {
  return maxRows + prefillTokensPerStep;
}

/** How long a thread computes before it yields to the event loop. */
const yieldEveryMs = 2;

/** One token to be computed. */
interface StepToken {
  row: Row;
  position: number;
}

/** Rows that can be computed together: those of the same weights. */
interface Batch {
  name: string;
  rows: Row[];
}

/**
 * Continuous batching on one thread. A row is a token sequence and the count of its tokens that the KV cache holds; a step computes
 * missing tokens of all rows together. Prefill, later turns, shared prefixes and rows whose weights have changed differ only in how
 * many tokens are missing, and a token's numbers depend on nothing but the tokens before it.
 */
export class Sampler {
  readonly #options: SamplerOptions;
  readonly #rows: Rows;
  readonly #groups: DecodeGroups<Row>;
  #waiting: ActiveRequest[] = [];
  #clock = 0;
  #yieldedAt = 0;
  #running = false;
  #held: { promise: Promise<void>; resume: () => void } | undefined;
  #paused: (() => void) | undefined;

  constructor(options: SamplerOptions) {
    this.#options = options;
    this.#rows = new Rows(options);
    const perToken = cacheBytes(options.shape);
    this.#groups = new DecodeGroups(options.decodeGroupBytes, (row) => row.tokens.length * perToken);
  }

  add(id: number, request: SampleRequest): void {
    const { tokenBytes } = this.#options;
    if ((request.stopStrings?.length ?? 0) > 0 && tokenBytes === undefined) {
      const error = {
        got: "stop strings",
        expected: "an engine with a tokenizer",
        hint: "Pass `tokenizer` when the engine is made, or stop at tokens.",
      };
      this.#options.finish(id, new LudusError("no-tokenizer", error));
      return;
    }
    this.#waiting.push(new ActiveRequest(id, request, tokenBytes));
    void this.#run();
  }

  /** Drops a request and frees its row at once. */
  abort(id: number): void {
    this.#waiting = this.#waiting.filter((request) => request.id !== id);
    this.#rows.freeWhere((row) => row.active?.id === id);
  }

  release(rollout: string): void {
    this.#rows.freeWhere((row) => row.rollout === rollout && row.active === undefined);
  }

  forgetWeights(name: string): void {
    this.#rows.freeWhere((row) => row.weights === name);
    this.#options.decoder.forget(name);
  }

  /** Resolves once no computation is running; none starts until `resume`. */
  async hold(): Promise<void> {
    let resume = () => {};
    const promise = new Promise<void>((resolve) => {
      resume = resolve;
    });
    this.#held = { promise, resume };
    if (!this.#running) return;
    await new Promise<void>((resolve) => {
      this.#paused = resolve;
    });
  }

  /**
   * Resumes. KV caches made with weights that changed are stale: idle rows are freed, active ones are prefilled again. Where caches are
   * kept, rows go on with theirs, and no other row shares them.
   */
  resume(changed: readonly string[], caches: OptimizerOptions["caches"] = "recompute"): void {
    if (caches === "keep") this.#rows.keepStale((row) => changed.includes(row.weights));
    else {
      this.#rows.freeWhere((row) => changed.includes(row.weights) && row.active === undefined);
      for (const row of this.#rows) if (changed.includes(row.weights)) this.#rows.reset(row);
    }
    this.#options.decoder.changed(changed);
    this.#held?.resume();
    this.#held = undefined;
    void this.#run();
  }

  async #run(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    try {
      while (true) {
        await this.#yield();
        if (this.#held !== undefined) await this.#pause(this.#held.promise);
        this.#clock++;
        this.#admit();
        const batches = this.#batches();
        if (batches.length === 0) break;
        for (const batch of batches) await this.#step(batch);
      }
    } finally {
      this.#running = false;
      this.#paused?.();
      this.#paused = undefined;
    }
  }

  /** Lets new requests and aborts in. Not at every step: yielding takes longer than a step of a small model. */
  async #yield(): Promise<void> {
    if (performance.now() - this.#yieldedAt < yieldEveryMs) return;
    await setImmediate();
    this.#yieldedAt = performance.now();
  }

  async #pause(until: Promise<void>): Promise<void> {
    this.#paused?.();
    this.#paused = undefined;
    await until;
  }

  #admit(): void {
    const stillWaiting: ActiveRequest[] = [];
    let isFull = false;
    for (const request of this.#waiting) {
      const outcome: "placed" | "later" | "full" = isFull ? "full" : this.#rows.place(request, this.#clock);
      isFull = outcome === "full";
      if (outcome !== "placed") stillWaiting.push(request);
    }
    this.#waiting = stillWaiting;
  }

  #batches(): Batch[] {
    const batches: Batch[] = [];
    const active = [...this.#rows].filter((row) => row.active !== undefined);
    for (const row of this.#groups.next(active)) {
      const batch = batches.find((other) => other.name === row.weights);
      if (batch === undefined) batches.push({ name: row.weights, rows: [row] });
      else batch.rows.push(row);
    }
    return batches;
  }

  /** The missing tokens of the rows, up to a limit: those that a next token is drawn after, then those of prefill. */
  #tokens(rows: readonly Row[]): { decoded: StepToken[]; prefilled: StepToken[] } {
    const decoded: StepToken[] = [];
    const prefilled: StepToken[] = [];
    let left = prefillTokensPerStep;
    for (const row of rows) {
      const end = Math.min(row.tokens.length, row.cached + 1 + left);
      if (!this.#reserve(row, end)) continue;
      left -= end - row.cached - 1;
      for (let position = row.cached; position < end; position++) {
        (position === row.tokens.length - 1 ? decoded : prefilled).push({ row, position });
      }
    }
    // reserving pages for one row may have preempted another
    const isPlaced = ({ row }: StepToken) => this.#rows.has(row);
    return { decoded: decoded.filter(isPlaced), prefilled: prefilled.filter(isPlaced) };
  }

  #reserve(row: Row, end: number): boolean {
    if (!this.#rows.has(row)) return false;
    if (this.#rows.reserve(row, end, (preempted) => this.#waiting.unshift(preempted))) return true;
    const active = row.active!;
    const isAlone = ![...this.#rows].some((other) => other !== row && other.active !== undefined);
    this.#rows.free(row);
    if (isAlone) this.#options.finish(active.id, this.#rows.tooSmall(end));
    else this.#waiting.unshift(active);
    return false;
  }

  async #step(batch: Batch): Promise<void> {
    const { decoded, prefilled } = this.#tokens(batch.rows);
    const tokens = [...decoded, ...prefilled];
    if (tokens.length === 0) return;
    const { decoder, version, rotation } = this.#options;
    const step = {
      weights: batch.name,
      rotation,
      tokens: tokens.map(({ row, position }) => row.tokens[position]),
      positions: tokens.map(({ position }) => position),
      lists: tokens.map(({ row }) => row.address),
      temperatures: decoded.map(({ row }) => row.active?.request.temperature ?? 1),
    };
    let probabilities_B: readonly Float32Array[];
    try {
      probabilities_B = await decoder.run(step);
    } catch (error) {
      if (!(error instanceof LudusError)) throw error;
      this.#refuse(batch, error);
      return;
    }
    for (const { row, position } of tokens) {
      if (this.#rows.has(row)) row.cached = Math.max(row.cached, position + 1);
    }
    decoded.forEach(({ row }, b) => {
      // a row that was aborted during the step has been freed
      if (this.#rows.has(row)) this.#draw(row, probabilities_B[b], version(batch.name));
    });
  }

  /** Fails the requests of a batch that cannot be computed; other batches continue. */
  #refuse({ rows }: Batch, error: LudusError): void {
    for (const row of rows) {
      const { active } = row;
      this.#rows.free(row);
      if (active !== undefined) this.#options.finish(active.id, error);
    }
  }

  #draw(row: Row, probabilities: Float32Array, version: number): void {
    const active = row.active!;
    row.used = this.#clock;
    const token = active.draw(probabilities, row.tokens.length, version);
    row.tokens.push(token);
    const stop = active.stopAt(token, row.tokens.length, this.#options.shape.config.contextLength);
    if (stop === undefined) return;
    row.active = undefined;
    if (row.rollout === undefined) this.#rows.free(row);
    this.#options.finish(active.id, active.toSample(stop));
  }
}
