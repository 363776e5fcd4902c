import type { InferenceSession } from "onnxruntime-node";
import { LudusError } from "../../errors.ts";
import { Answer } from "../answer.ts";
import type { Sample, SampleRequest } from "../engine.ts";
import { BatchInputs, type BatchShape } from "./batch-inputs.ts";
import { type Lane, nextEnd, type Row } from "./lane.ts";
import { lanes } from "./model-graph.ts";
import { RowPlacement, type RowPlacementOptions } from "./row-placement.ts";
import type { Feeds } from "./session.ts";

export interface SamplerOptions extends RowPlacementOptions {
  sessions: { prompts: InferenceSession; decoding: InferenceSession };
  tokenBytes: readonly Uint8Array[] | undefined;
  /** The weights of a name as feeds, and their version. */
  weights(name: string): { feeds: Feeds; version: number };
  finish(id: number, result: Sample | LudusError): void;
}

/** Padded tokens of one run over prompts: enough to be efficient, few enough that decoding rows do not wait long. */
const prefillTokens = 2048;
/**
 * Continuous batching on one thread. Every row is a token list and a count of the tokens its cache holds; whatever is missing
 * is computed next, many rows at a time. Prompts, later turns, forks of a shared prompt and rows whose weights have changed
 * all differ only in how much is missing.
 */
export class Sampler {
  readonly #options: SamplerOptions;
  readonly #placement: RowPlacement;
  #waiting: Answer[] = [];
  /** Inputs of the last decoding step of a lane. */
  readonly #decoding = new WeakMap<Lane, BatchInputs>();
  #clock = 0;
  #running = false;
  #held: { promise: Promise<void>; resume: () => void } | undefined;
  #paused: (() => void) | undefined;

  constructor(options: SamplerOptions) {
    this.#options = options;
    this.#placement = new RowPlacement(options);
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
    this.#freeWhere((row) => row.answer?.id === id);
  }

  release(rollout: string): void {
    this.#freeWhere((row) => row.rollout === rollout && row.answer === undefined);
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
    for (const name of changed) {
      for (const lane of this.#placement.lanesOf(name)) {
        lane.freeWhere((row) => row.answer === undefined);
        for (const row of lane.rows) if (row !== undefined) row.cached = row.prefilled = 0;
      }
    }
    this.#held?.resume();
    this.#held = undefined;
    void this.#run();
  }

  forgetWeights(name: string): void {
    this.#placement.forget(name);
  }

  #freeWhere(matches: (row: Row) => boolean): void {
    for (const { lane } of this.#placement.lanes()) lane.freeWhere(matches);
  }

  async #run(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    try {
      do {
        if (this.#held !== undefined) await this.#pause(this.#held.promise);
        this.#clock++;
        this.#admit();
        for (const { name, lane } of [...this.#placement.lanes()]) if (lane.isBusy) await this.#advance(name, lane);
      } while ([...this.#placement.lanes()].some(({ lane }) => lane.isBusy) || this.#waiting.length > 0);
    } finally {
      this.#running = false;
      this.#paused?.();
      this.#paused = undefined;
    }
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
      const outcome: ReturnType<RowPlacement["place"]> = isFull ? "full" : this.#placement.place(answer, this.#clock);
      isFull = outcome === "full";
      if (outcome === "later" || outcome === "full") stillWaiting.push(answer);
      else if (outcome !== "placed") this.#options.finish(answer.id, outcome);
    }
    this.#waiting = stillWaiting;
  }

  async #advance(name: string, lane: Lane): Promise<void> {
    const displaced = this.#placement.makeRoom(lane);
    if (displaced.length > 0 && ![...this.#placement.lanes()].some(({ lane: other }) => other.isBusy)) {
      const answer = displaced.shift()!;
      this.#options.finish(answer.id, this.#placement.tooSmall(answer.allTokens.length));
    }
    this.#waiting.unshift(...displaced);
    const fits = (first: number, end: number) => {
      const lengths = lane.rows.slice(first, end).map((row) => nextEnd(row!) - row!.cached);
      return lengths.length * Math.max(...lengths) <= prefillTokens;
    };
    for (const [first, end] of runsOf(indicesOf(lane, "prompts"), fits)) {
      await this.#compute(name, lane, first, end, "prompts");
    }
    let decoding = indicesOf(lane, "decoding");
    if (decoding.length === 0) return;
    const span = decoding.at(-1)! + 1 - decoding[0]!;
    // copying rows together pays only when most of the batch would be padding
    if (span - decoding.length > 8 && decoding.length * 4 < span) {
      lane.gather(decoding);
      decoding = decoding.map((_, index) => index);
    }
    await this.#compute(name, lane, decoding[0]!, decoding.at(-1)! + 1, "decoding");
  }

  /** One run over rows `first` to `end` for those that take part; the others are padding. */
  async #compute(name: string, lane: Lane, first: number, end: number, work: "prompts" | "decoding"): Promise<void> {
    // a product with one row takes another path in ONNX Runtime and rounds differently: there are always two
    const start = end - first > 1 || first + 2 <= lane.cache.rows ? first : first - 1;
    const count = Math.max(2, end - start);
    const rows = Array.from({ length: count }, (_, b) => {
      const row = lane.rows[start + b];
      return workOf(row) === work ? row : undefined;
    });
    const ends = rows.map((row) => (row === undefined ? 0 : nextEnd(row)));
    const longest = Math.max(...rows.map((row, b) => (row === undefined ? 1 : ends[b]! - row.cached)));
    const width = work === "decoding" ? 1 : Math.ceil(longest / lanes) * lanes;
    const { feeds: weights, version } = this.#options.weights(name);
    const inputs = this.#inputs({ lane, start, count, width, weights }, rows);
    inputs.fill(rows, ends);
    const outputs = await this.#options.sessions[work].run(inputs.feeds);
    const { layers, vocabularySize } = this.#options.config;
    const fresh = Array.from({ length: layers }, (_, layer) => ({
      keys: outputs[`newKeys.${layer}`]!.data as Float32Array,
      values: outputs[`newValues.${layer}`]!.data as Float32Array,
    }));
    for (let b = 0; b < count; b++) {
      const row = rows[b];
      // a row that was aborted meanwhile is not there any more
      if (row === undefined || lane.rows[start + b] !== row) continue;
      for (let layer = 0; layer < layers; layer++) {
        lane.cache.write(layer, start + b, row.cached, fresh[layer]!, b, width, ends[b]! - row.cached);
      }
      if (work === "prompts" && row.prefilled === row.cached) row.prefilled = ends[b]!;
      row.cached = ends[b]!;
      row.used = this.#clock;
      if (work === "prompts") continue;
      const probabilities = outputs.probabilities!.data as Float32Array;
      this.#draw(lane, start + b, probabilities.subarray(b * vocabularySize, (b + 1) * vocabularySize), version);
    }
  }

  #inputs(shape: BatchShape, rows: readonly (Row | undefined)[]): BatchInputs {
    const { config } = this.#options;
    if (shape.width > 1)
      return new BatchInputs(
        config,
        shape,
        rows.every((row) => (row?.cached ?? 0) === 0),
      );
    const last = this.#decoding.get(shape.lane);
    if (last?.fits(shape)) return last;
    const inputs = new BatchInputs(config, shape, false);
    this.#decoding.set(shape.lane, inputs);
    return inputs;
  }

  #draw(lane: Lane, index: number, probabilities: Float32Array, version: number): void {
    const row = lane.rows[index]!;
    const answer = row.answer!;
    const token = answer.draw(probabilities, row.tokens.length, version);
    row.tokens.push(token);
    const stop = answer.stopAt(token, row.tokens.length, this.#options.config.contextLength);
    if (stop === undefined) return;
    row.answer = undefined;
    if (row.rollout === undefined) lane.free(index);
    this.#options.finish(answer.id, answer.toSample(stop));
  }
}

/** What a row needs next: the last token it has is always a decoding step. */
function workOf(row: Row | undefined): "prompts" | "decoding" | undefined {
  if (row?.answer === undefined) return undefined;
  return row.tokens.length - row.cached > 1 ? "prompts" : "decoding";
}

function indicesOf(lane: Lane, work: "prompts" | "decoding"): number[] {
  return lane.rows.flatMap((row, index) => (workOf(row) === work ? [index] : []));
}

/** Consecutive indices as ranges, each no longer than `fits` allows. */
function runsOf(indices: readonly number[], fits: (first: number, end: number) => boolean): [number, number][] {
  const runs: [number, number][] = [];
  for (const index of indices) {
    const last = runs.at(-1);
    if (last !== undefined && last[1] === index && fits(last[0], index + 1)) last[1] = index + 1;
    else runs.push([index, index + 1]);
  }
  return runs;
}
