import { setImmediate } from "node:timers/promises";
import { LudusError } from "../../errors.ts";
import { Answer } from "../answer.ts";
import type { Sample, SampleRequest } from "../engine.ts";
import { Cohort } from "./cohort.ts";
import type { Decoder } from "./decoder.ts";
import { tokenBytes as cacheBytes } from "./page-cache.ts";
import type { Rotation, Rotations } from "./rotations.ts";
import { type Row, Rows, type RowsOptions } from "./rows.ts";

export interface SamplerOptions extends RowsOptions {
  decoder: Decoder;
  /** Keys and values that rows may have to go on together. */
  cohortBytes: number;
  rotations: Rotations;
  tokenBytes: readonly Uint8Array[] | undefined;
  /** The version of the weights of a name. */
  version(name: string): number;
  finish(id: number, result: Sample | LudusError): void;
}

/** Tokens of prompts computed in one step: enough to be efficient, few enough that decoding rows do not wait long. */
const promptTokens = 512;

/** The most tokens of a step: one of each row, and those of prompts. */
export function mostStepTokens(maxRows: number): number {
  return maxRows + promptTokens;
}

/** Time that a thread computes without looking for messages. */
const listenMs = 2;

/** One token to be computed. */
interface StepToken {
  row: Row;
  position: number;
}

/** Rows that can be computed together: same weights, same rotation. */
interface Batch {
  name: string;
  rotation: Rotation;
  rows: Row[];
}

/**
 * Continuous batching on one thread. Every row is a token list and a count of the tokens its cache holds; whatever is missing
 * is computed next, tokens of all rows together. Prompts, later turns, shared beginnings and rows whose weights have changed
 * all differ only in how much is missing, and a token's numbers depend on nothing but the tokens before it.
 */
export class Sampler {
  readonly #options: SamplerOptions;
  readonly #rows: Rows;
  readonly #cohort: Cohort<Row>;
  #waiting: Answer[] = [];
  #clock = 0;
  #heard = 0;
  #running = false;
  #held: { promise: Promise<void>; resume: () => void } | undefined;
  #paused: (() => void) | undefined;

  constructor(options: SamplerOptions) {
    this.#options = options;
    this.#rows = new Rows(options);
    const perToken = cacheBytes(options.shape);
    this.#cohort = new Cohort(options.cohortBytes, (row) => row.tokens.length * perToken);
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
    this.#waiting.push(new Answer(id, request, tokenBytes));
    void this.#run();
  }

  /** Forgets a request; its row is free at once. */
  abort(id: number): void {
    this.#waiting = this.#waiting.filter((answer) => answer.id !== id);
    this.#rows.freeWhere((row) => row.answer?.id === id);
  }

  release(rollout: string): void {
    this.#rows.freeWhere((row) => row.rollout === rollout && row.answer === undefined);
  }

  forgetWeights(name: string): void {
    this.#rows.freeWhere((row) => row.weights === name);
    this.#options.decoder.forget(name);
  }

  /** Resolves once no computation is under way; nothing starts until `resume`. */
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

  /** Goes on. What the cache holds for weights that changed is worthless: idle rows go, active ones are computed again. */
  resume(changed: readonly string[]): void {
    this.#rows.freeWhere((row) => changed.includes(row.weights) && row.answer === undefined);
    for (const row of this.#rows) if (changed.includes(row.weights)) this.#rows.reset(row);
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
        await this.#listen();
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

  /** Now and then requests and aborts are heard; to do so at every step would take longer than a small step itself. */
  async #listen(): Promise<void> {
    if (performance.now() - this.#heard < listenMs) return;
    await setImmediate();
    this.#heard = performance.now();
  }

  async #pause(until: Promise<void>): Promise<void> {
    this.#paused?.();
    this.#paused = undefined;
    await until;
  }

  #admit(): void {
    const stillWaiting: Answer[] = [];
    let isFull = false;
    for (const answer of this.#waiting) {
      const outcome: "placed" | "later" | "full" = isFull ? "full" : this.#place(answer);
      isFull = outcome === "full";
      if (outcome !== "placed") stillWaiting.push(answer);
    }
    this.#waiting = stillWaiting;
  }

  #place(answer: Answer): "placed" | "later" | "full" {
    const rotation = this.#options.rotations.for(answer.allTokens.length);
    return this.#rows.place(answer, rotation, this.#clock);
  }

  #batches(): Batch[] {
    const batches: Batch[] = [];
    const active = [...this.#rows].filter((row) => row.answer !== undefined);
    for (const row of this.#cohort.next(active)) {
      const rotation = this.#options.rotations.for(row.tokens.length);
      if (rotation !== row.rotation) {
        this.#rows.reset(row);
        row.rotation = rotation;
      }
      const batch = batches.find((other) => other.name === row.weights && other.rotation === rotation);
      if (batch === undefined) batches.push({ name: row.weights, rotation, rows: [row] });
      else batch.rows.push(row);
    }
    return batches;
  }

  /** What the rows lack, up to a limit: first the tokens that an answer waits for, then parts of prompts. */
  #tokens(rows: readonly Row[]): { answering: StepToken[]; others: StepToken[] } {
    const answering: StepToken[] = [];
    const others: StepToken[] = [];
    let left = promptTokens;
    for (const row of rows) {
      const end = Math.min(row.tokens.length, row.cached + 1 + left);
      if (!this.#reserve(row, end)) continue;
      left -= end - row.cached - 1;
      for (let position = row.cached; position < end; position++) {
        (position === row.tokens.length - 1 ? answering : others).push({ row, position });
      }
    }
    // a row may have given way to a later one
    const isThere = ({ row }: StepToken) => this.#rows.has(row);
    return { answering: answering.filter(isThere), others: others.filter(isThere) };
  }

  #reserve(row: Row, end: number): boolean {
    if (!this.#rows.has(row)) return false;
    if (this.#rows.reserve(row, end, (answer) => this.#waiting.unshift(answer))) return true;
    const answer = row.answer!;
    const isAlone = ![...this.#rows].some((other) => other !== row && other.answer !== undefined);
    this.#rows.free(row);
    if (isAlone) this.#options.finish(answer.id, this.#rows.tooSmall(end));
    else this.#waiting.unshift(answer);
    return false;
  }

  async #step(batch: Batch): Promise<void> {
    const { answering, others } = this.#tokens(batch.rows);
    const tokens = [...answering, ...others];
    if (tokens.length === 0) return;
    const { decoder, version } = this.#options;
    const step = {
      weights: batch.name,
      rotation: batch.rotation,
      tokens: tokens.map(({ row, position }) => row.tokens[position]),
      positions: tokens.map(({ position }) => position),
      lists: tokens.map(({ row }) => row.address),
      temperatures: answering.map(({ row }) => row.answer?.request.temperature ?? 1),
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
    answering.forEach(({ row }, b) => {
      // a row that was aborted meanwhile is not there any more
      if (this.#rows.has(row)) this.#draw(row, probabilities_B[b], version(batch.name));
    });
  }

  /** Ends what cannot be computed; other rows go on. */
  #refuse({ rows }: Batch, error: LudusError): void {
    for (const row of rows) {
      const { answer } = row;
      this.#rows.free(row);
      if (answer !== undefined) this.#options.finish(answer.id, error);
    }
  }

  #draw(row: Row, probabilities: Float32Array, version: number): void {
    const answer = row.answer!;
    row.used = this.#clock;
    const token = answer.draw(probabilities, row.tokens.length, version);
    row.tokens.push(token);
    const stop = answer.stopAt(token, row.tokens.length, this.#options.shape.config.contextLength);
    if (stop === undefined) return;
    row.answer = undefined;
    if (row.rollout === undefined) this.#rows.free(row);
    this.#options.finish(answer.id, answer.toSample(stop));
  }
}
