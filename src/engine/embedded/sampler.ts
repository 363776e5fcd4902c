import type { InferenceSession } from "onnxruntime-node";
import { LudusError } from "../../errors.ts";
import { Answer } from "../answer.ts";
import type { Sample, SampleRequest } from "../engine.ts";
import { type Lane, nextEnd, type Row } from "./lane.ts";
import { lanes } from "./model-graph.ts";
import { RowPlacement, type RowPlacementOptions } from "./row-placement.ts";
import { causalMask, type Feeds, floats, hidden, integers } from "./session.ts";

export interface SamplerOptions extends RowPlacementOptions {
  /** For rows that lack many tokens, and for rows that lack one. */
  sessions: { many: InferenceSession; one: InferenceSession };
  tokenBytes: readonly Uint8Array[] | undefined;
  /** The weights of a name as feeds, and their version. */
  weights(name: string): { feeds: Feeds; version: number };
  finish(id: number, result: Sample | LudusError): void;
}

/** Padded tokens of one run over prompts: enough to be efficient, few enough that decoding rows do not wait long. */
const prefillTokens = 2048;
/** Added to the score of the token itself and to those that only fill its lanes. */
const ownMask = floats(new Float32Array(lanes).fill(hidden, 1), [lanes]);

/**
 * Continuous batching on one thread. Every row is a token list and a count of the tokens its cache holds; whatever is missing
 * is computed next, many rows at a time. Prompts, later turns, forks of a shared prompt and rows whose weights have changed
 * all differ only in how much is missing.
 */
export class Sampler {
  readonly #options: SamplerOptions;
  readonly #placement: RowPlacement;
  #waiting: Answer[] = [];
  readonly #masks = new Map<number, Float32Array>();
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
    const missing = (row: Row | undefined) => (row?.answer === undefined ? 0 : row.tokens.length - row.cached);
    const prompts = lane.rows.flatMap((row, index) => (missing(row) > 1 ? [index] : []));
    const fits = (first: number, end: number) =>
      (end - first) * Math.max(...lane.rows.slice(first, end).map((row) => nextEnd(row!) - row!.cached)) <=
      prefillTokens;
    for (const [first, end] of runsOf(prompts, fits))
      await this.#compute(name, lane, first, end, (row) => missing(row) > 1);
    let decoding = lane.rows.flatMap((row, index) => (missing(row) === 1 ? [index] : []));
    if (decoding.length === 0) return;
    const span = decoding.at(-1)! + 1 - decoding[0]!;
    // copying rows together pays only when most of the batch would be padding
    if (span - decoding.length > 8 && decoding.length * 4 < span) {
      lane.gather(decoding);
      decoding = decoding.map((_, index) => index);
    }
    await this.#compute(name, lane, decoding[0]!, decoding.at(-1)! + 1, (row) => missing(row) === 1);
  }

  /** One run over rows `first` to `end` for those that take part; the others are padding. */
  async #compute(
    name: string,
    lane: Lane,
    first: number,
    end: number,
    takesPart: (row: Row | undefined) => boolean,
  ): Promise<void> {
    // a product with one row takes another path in ONNX Runtime and rounds differently: there are always two
    const start = end - first > 1 || first + 2 <= lane.cache.rows ? first : first - 1;
    const count = Math.max(2, end - start);
    const rows = Array.from({ length: count }, (_, b) =>
      takesPart(lane.rows[start + b]) ? lane.rows[start + b]! : undefined,
    );
    const ends = rows.map((row) => (row === undefined ? 0 : nextEnd(row)));
    const longest = Math.max(...rows.map((row, b) => (row === undefined ? 1 : ends[b]! - row.cached)));
    const width = longest === 1 ? 1 : Math.ceil(longest / lanes) * lanes;
    const { feeds, version } = this.#options.weights(name);
    const session = width === 1 ? this.#options.sessions.one : this.#options.sessions.many;
    const inputs = {
      ...feeds,
      ...lane.rotation.feeds,
      ...this.#tokenFeeds(rows, ends, width),
      ...this.#cacheFeeds(lane, start, rows),
    };
    const outputs = await session.run(inputs);
    const { layers, vocabularySize } = this.#options.config;
    const fresh = Array.from({ length: layers }, (_, layer) => ({
      keys: outputs[`newKeys.${layer}`]!.data as Float32Array,
      values: outputs[`newValues.${layer}`]!.data as Float32Array,
    }));
    const probabilities = outputs.probabilities!.data as Float32Array;
    for (let b = 0; b < count; b++) {
      const row = rows[b];
      // a row that was aborted meanwhile is not there any more
      if (row === undefined || lane.rows[start + b] !== row) continue;
      for (let layer = 0; layer < layers; layer++) {
        lane.cache.write(layer, start + b, row.cached, fresh[layer]!, b, width, ends[b]! - row.cached);
      }
      this.#advanceRow(
        lane,
        start + b,
        ends[b]!,
        probabilities.subarray(b * vocabularySize, (b + 1) * vocabularySize),
        version,
      );
    }
  }

  #advanceRow(lane: Lane, index: number, end: number, probabilities: Float32Array, version: number): void {
    const row = lane.rows[index]!;
    const answer = row.answer!;
    row.used = this.#clock;
    const isPrompt = end < row.tokens.length;
    if (isPrompt && row.prefilled === row.cached) row.prefilled = end;
    row.cached = end;
    if (isPrompt) return;
    const token = answer.draw(probabilities, row.tokens.length, version);
    row.tokens.push(token);
    const stop = answer.stopAt(token, row.tokens.length, this.#options.config.contextLength);
    if (stop === undefined) return;
    row.answer = undefined;
    if (row.rollout === undefined) lane.free(index);
    this.#options.finish(answer.id, answer.toSample(stop));
  }

  #tokenFeeds(rows: readonly (Row | undefined)[], ends: readonly number[], width: number): Feeds {
    const count = rows.length;
    const tokens = new Int32Array(count * width);
    const positions = new Int32Array(count * width);
    const wanted = new Int32Array(count);
    const inverse = new Float32Array(count).fill(1);
    rows.forEach((row, b) => {
      wanted[b] = b * width;
      if (row === undefined) return;
      for (let at = row.cached, s = b * width; at < ends[b]!; at++, s++) {
        tokens[s] = row.tokens[at]!;
        positions[s] = at;
      }
      inverse[b] = 1 / (row.answer!.request.temperature || 1);
    });
    if (width === 1) {
      return {
        tokens: integers(tokens, [count]),
        positions: integers(positions, [count, 1]),
        inverseTemperature: floats(inverse, [count, 1]),
        ownMask,
      };
    }
    return {
      tokens: integers(tokens, [count, width]),
      positions: integers(positions, [count, width]),
      inverseTemperature: floats(inverse, [count, 1]),
      wanted: integers(wanted, [count]),
      newMask: floats(this.#mask(width), [width, width]),
    };
  }

  #mask(width: number): Float32Array {
    let mask = this.#masks.get(width);
    if (mask === undefined) {
      mask = causalMask(width);
      this.#masks.set(width, mask);
    }
    return mask;
  }

  #cacheFeeds(lane: Lane, start: number, rows: readonly (Row | undefined)[]): Feeds {
    const { config } = this.#options;
    const isEmpty = rows.every((row) => (row?.cached ?? 0) === 0);
    const length = isEmpty ? lanes : lane.cache.length;
    const dims = [rows.length, config.keyValueHeads, length, config.headWidth];
    const nothing = isEmpty
      ? new Float32Array(rows.length * config.keyValueHeads * length * config.headWidth)
      : undefined;
    const feeds: Feeds = {};
    for (let layer = 0; layer < config.layers; layer++) {
      const { keys, values } =
        nothing === undefined ? lane.cache.view(layer, start, start + rows.length) : { keys: nothing, values: nothing };
      feeds[`keys.${layer}`] = floats(keys, dims);
      feeds[`values.${layer}`] = floats(values, dims);
    }
    const mask = new Float32Array(rows.length * length).fill(hidden);
    rows.forEach((row, b) => {
      if (row !== undefined) mask.fill(0, b * length, b * length + row.cached);
    });
    feeds.pastMask = floats(mask, [rows.length, 1, 1, length]);
    return feeds;
  }
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
