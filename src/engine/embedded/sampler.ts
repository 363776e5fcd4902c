import type { InferenceSession } from "onnxruntime-node";
import { LudusError } from "../../errors.ts";
import { uniformAt } from "../../random.ts";
import { policyWeights, type Sample, type SampleRequest, type SampleStop } from "../engine.ts";
import { type Chosen, chooseToken, mostProbable } from "../choose-token.ts";
import { cacheRowBytes } from "./key-value-cache.ts";
import { type Answer, Lane, type Row } from "./lane.ts";
import type { ModelConfig } from "./model-config.ts";
import type { Rotations } from "./rotations.ts";
import { causalMask, type Feeds, floats, hidden, integers } from "./session.ts";
import { StopStringMatcher } from "../stop-strings.ts";

export interface SamplerOptions {
  config: ModelConfig;
  /** For rows that lack many tokens, and for rows that lack one. */
  sessions: { many: InferenceSession; one: InferenceSession };
  rotations: Rotations;
  /** Limit of all key/value caches together. */
  maxCacheBytes: number;
  maxRows: number;
  tokenBytes: readonly Uint8Array[] | undefined;
  /** The weights of a name as feeds, and their version. */
  weights(name: string): { feeds: Feeds; version: number };
  finish(id: number, result: Sample | LudusError): void;
}

const firstLaneLength = 256;
const laneRatio = 4;
/** Padded tokens of one prefill run: enough to be efficient, few enough that decoding rows do not wait long. */
const prefillTokens = 2048;
/** A shared prefix shorter than this is computed again rather than copied. */
const worthForking = 8;

/**
 * Continuous batching on one thread. Every row is a token list and a count of the tokens its cache holds; whatever is missing
 * is computed next, many rows at a time. Prompts, later turns, forks of a shared prompt and rows whose weights have changed
 * all differ only in how much is missing.
 */
export class Sampler {
  readonly #options: SamplerOptions;
  readonly #lanes = new Map<string, Lane[]>();
  readonly #waiting: { answer: Answer; row?: never }[] = [];
  readonly #masks = new Map<number, Float32Array>();
  #clock = 0;
  #running = false;
  #held: { promise: Promise<void>; resume: () => void } | undefined;
  #paused: (() => void) | undefined;

  constructor(options: SamplerOptions) {
    this.#options = options;
  }

  add(id: number, request: SampleRequest): void {
    const { tokenBytes } = this.#options;
    const strings = request.stopStrings ?? [];
    if (strings.length > 0 && tokenBytes === undefined) {
      const error = {
        got: "stop strings",
        expected: "an engine with a tokenizer",
        hint: "Pass `tokenizer` when the engine is made, or stop at tokens.",
      };
      this.#options.finish(id, new LudusError("no-tokenizer", error));
      return;
    }
    const matcher =
      strings.length > 0
        ? new StopStringMatcher(strings, (token) => tokenBytes![token] ?? new Uint8Array())
        : undefined;
    const alternatives = { tokens: [], logprobs: [] };
    const stopTokens = new Set(request.stopTokens);
    this.#waiting.push({
      answer: {
        id,
        request,
        tokens: [],
        logprobs: [],
        cutLogprobs: [],
        versions: [],
        alternatives,
        stopTokens,
        matcher,
      },
    });
    void this.#run();
  }

  /** Forgets a request; its row is free at once. */
  abort(id: number): void {
    const index = this.#waiting.findIndex(({ answer }) => answer.id === id);
    if (index >= 0) this.#waiting.splice(index, 1);
    this.#free((row) => row.answer?.id === id);
  }

  release(rollout: string): void {
    this.#free((row) => row.rollout === rollout && row.answer === undefined);
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
      for (const lane of this.#lanes.get(name) ?? []) {
        lane.rows.forEach((row, index) => {
          if (row?.answer === undefined) lane.rows[index] = undefined;
          else row.cached = 0;
        });
        lane.shrink();
      }
    }
    this.#held?.resume();
    this.#held = undefined;
    void this.#run();
  }

  forgetWeights(name: string): void {
    this.#lanes.delete(name);
  }

  #free(matches: (row: Row) => boolean): void {
    for (const lane of this.#allLanes()) {
      lane.rows.forEach((row, index) => {
        if (row !== undefined && matches(row)) lane.rows[index] = undefined;
      });
      lane.shrink();
    }
  }

  #allLanes(): Lane[] {
    return [...this.#lanes.values()].flat();
  }

  async #run(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    try {
      while (true) {
        if (this.#held !== undefined) {
          this.#paused?.();
          this.#paused = undefined;
          await this.#held.promise;
        }
        this.#clock++;
        this.#admit();
        const busy = [...this.#lanes]
          .flatMap(([name, lanes]) => lanes.map((lane) => ({ name, lane })))
          .filter(({ lane }) => lane.rows.some((row) => row?.answer !== undefined));
        if (busy.length === 0) break;
        for (const { name, lane } of busy) await this.#advance(name, lane);
      }
    } finally {
      this.#running = false;
      this.#paused?.();
      this.#paused = undefined;
    }
  }

  // ---- admission

  #admit(): void {
    const startedNow: Row[] = [];
    for (let i = 0; i < this.#waiting.length; ) {
      const { answer } = this.#waiting[i]!;
      const outcome = this.#place(answer, startedNow);
      if (outcome === "full") break;
      if (outcome === "later") i++;
      else this.#waiting.splice(i, 1);
    }
  }

  /** Finds a row for a request: its rollout's own, a fork of another with the same beginning, or an empty one. */
  #place(answer: Answer, startedNow: Row[]): "placed" | "later" | "full" {
    const { request } = answer;
    const name = request.weights ?? policyWeights;
    const tokens = Array.from(request.tokens);
    const own =
      request.rollout === undefined
        ? undefined
        : this.#find(name, (row) => row.rollout === request.rollout && row.answer === undefined);
    if (own !== undefined) {
      const { row } = own;
      row.cached = Math.min(commonPrefix(row.tokens, tokens, row.cached), tokens.length - 1);
      Object.assign(row, { tokens, answer, used: this.#clock });
      return "placed";
    }
    if (startedNow.some((row) => row.cached === 0 && sharesPrompt(row.tokens, tokens))) return "later";
    const lane = this.#laneFor(name, tokens.length);
    const index = this.#claimRow(lane, tokens.length);
    if (index === undefined) {
      if (this.#allLanes().some(({ rows }) => rows.some((row) => row?.answer !== undefined))) return "full";
      this.#options.finish(answer.id, this.#cacheTooSmall(tokens.length));
      return "placed";
    }
    const row: Row = { tokens, cached: 0, answer, rollout: request.rollout, used: this.#clock };
    this.#fork(name, row, lane, index);
    lane.rows[index] = row;
    startedNow.push(row);
    return "placed";
  }

  #find(name: string, matches: (row: Row) => boolean): { lane: Lane; row: Row } | undefined {
    for (const lane of this.#lanes.get(name) ?? []) {
      const row = lane.rows.find((candidate) => candidate !== undefined && matches(candidate));
      if (row !== undefined) return { lane, row };
    }
    return undefined;
  }

  /** Takes over the longest common beginning from any row of the same weights. */
  #fork(name: string, row: Row, lane: Lane, index: number): void {
    let best: { lane: Lane; index: number; length: number } | undefined;
    for (const other of this.#lanes.get(name) ?? []) {
      other.rows.forEach((candidate, at) => {
        if (candidate === undefined || other.rotation !== lane.rotation) return;
        const length = Math.min(commonPrefix(candidate.tokens, row.tokens, candidate.cached), row.tokens.length - 1);
        if (length >= worthForking && length > (best?.length ?? 0)) best = { lane: other, index: at, length };
      });
    }
    if (best === undefined) return;
    lane.cache.copyRow(best.lane.cache, best.index, index, best.length);
    row.cached = best.length;
  }

  #laneFor(name: string, length: number): Lane {
    const lanes = this.#lanes.get(name) ?? [];
    this.#lanes.set(name, lanes);
    let maxLength = firstLaneLength;
    while (maxLength < length + 1) maxLength *= laneRatio;
    const rotation = this.#options.rotations.for(length);
    maxLength = Math.min(maxLength, rotation.maxLength);
    const found = lanes.find((lane) => lane.maxLength === maxLength && lane.rotation === rotation);
    if (found !== undefined) return found;
    const lane = new Lane(this.#options.config, maxLength, rotation);
    lanes.push(lane);
    return lane;
  }

  // ---- memory

  /** A free row index with room for a length, growing the lane or evicting idle rows; undefined when memory is full. */
  #claimRow(lane: Lane, length: number): number | undefined {
    const { maxRows } = this.#options;
    const total = this.#allLanes().reduce((sum, { rows }) => sum + rows.filter((row) => row !== undefined).length, 0);
    if (total >= maxRows && !this.#evictIdle()) return undefined;
    const index = lane.freeIndex();
    const rows =
      index < lane.cache.rows ? lane.cache.rows : Math.max(index + 1, Math.min(2 * lane.cache.rows, maxRows), 4);
    const enough = bucketLength(Math.max(length, lane.cache.length));
    if (this.#reserve(lane, rows, enough) || this.#reserve(lane, index + 1, enough)) return index;
    return this.#evictIdle() ? this.#claimRow(lane, length) : undefined;
  }

  #reserve(lane: Lane, rows: number, length: number): boolean {
    const others = this.#allLanes().reduce((sum, other) => sum + (other === lane ? 0 : other.cache.bytes), 0);
    if (others + cacheRowBytes(this.#options.config, length) * rows > this.#options.maxCacheBytes) return false;
    lane.resize(rows, length);
    return true;
  }

  #evictIdle(): boolean {
    let oldest: { lane: Lane; index: number; used: number } | undefined;
    for (const lane of this.#allLanes()) {
      lane.rows.forEach((row, index) => {
        if (row !== undefined && row.answer === undefined && row.used < (oldest?.used ?? Number.POSITIVE_INFINITY))
          oldest = { lane, index, used: row.used };
      });
    }
    if (oldest === undefined) return false;
    oldest.lane.rows[oldest.index] = undefined;
    oldest.lane.shrink();
    return true;
  }

  #cacheTooSmall(length: number): LudusError {
    const need = cacheRowBytes(this.#options.config, bucketLength(length));
    return new LudusError("cache-too-small", {
      got: `a sequence of ${length} tokens, whose keys and values take ${Math.ceil(need / 2 ** 20)} MiB`,
      expected: `at most ${Math.floor(this.#options.maxCacheBytes / 2 ** 20)} MiB, the cache of one thread`,
      hint: "Raise `maxCacheBytes`, or shorten the sequence.",
    });
  }

  /** Room for the next tokens of active rows. When memory is full the youngest row waits and is computed again later. */
  #makeRoom(lane: Lane): void {
    for (let index = 0; index < lane.rows.length; index++) {
      const row = lane.rows[index];
      if (row?.answer !== undefined && row.tokens.length > lane.maxLength) this.#promote(lane, index);
    }
    while (true) {
      const active = lane.rows.filter((row) => row?.answer !== undefined);
      const longest = Math.max(0, ...active.map((row) => row!.tokens.length));
      if (
        longest <= lane.cache.length ||
        this.#reserve(lane, lane.cache.rows, bucketLength(longest)) ||
        this.#reserve(lane, lane.rows.length, bucketLength(longest))
      )
        return;
      if (this.#evictIdle()) continue;
      const youngest = lane.rows.findLastIndex((row) => row?.answer !== undefined);
      const { answer } = lane.rows[youngest]!;
      lane.rows[youngest] = undefined;
      if (active.length === 1) this.#options.finish(answer!.id, this.#cacheTooSmall(longest));
      else this.#waiting.unshift({ answer: this.#continued(answer!) });
      lane.shrink();
    }
  }

  /** A preempted request asks for what it has already, and then for the rest. */
  #continued(answer: Answer): Answer {
    return { ...answer, request: { ...answer.request, tokens: [...answer.request.tokens, ...answer.tokens] } };
  }

  #promote(lane: Lane, index: number): void {
    const row = lane.rows[index]!;
    const name = row.answer!.request.weights ?? policyWeights;
    const next = this.#laneFor(name, row.tokens.length);
    const target = this.#claimRow(next, row.tokens.length);
    lane.rows[index] = undefined;
    if (target === undefined) {
      this.#waiting.unshift({ answer: this.#continued(row.answer!) });
      return;
    }
    if (next.rotation === lane.rotation) next.cache.copyRow(lane.cache, index, target, row.cached);
    else row.cached = 0;
    next.rows[target] = row;
  }

  // ---- computation

  async #advance(name: string, lane: Lane): Promise<void> {
    this.#makeRoom(lane);
    const missing = (row: Row | undefined) => (row?.answer === undefined ? 0 : row.tokens.length - row.cached);
    const prefill = lane.rows.flatMap((row, index) => (missing(row) > 1 ? [index] : []));
    for (const [first, end] of runsOf(
      prefill,
      (from, to) => (to - from) * Math.max(...lane.rows.slice(from, to).map(missing)) <= prefillTokens,
    )) {
      await this.#compute(name, lane, first, end, (row) => missing(row) > 1);
    }
    let decode = lane.rows.flatMap((row, index) => (missing(row) === 1 ? [index] : []));
    if (decode.length === 0) return;
    const span = decode.at(-1)! + 1 - decode[0]!;
    if (span - decode.length > 8 && decode.length * 4 < span) {
      lane.gather(decode);
      decode = decode.map((_, index) => index);
    }
    await this.#compute(name, lane, decode[0]!, decode.at(-1)! + 1, (row) => missing(row) === 1);
  }

  /** One run over rows `first` to `end` for those that take part; the others are padding. */
  async #compute(
    name: string,
    lane: Lane,
    first: number,
    end: number,
    takesPart: (row: Row | undefined) => boolean,
  ): Promise<void> {
    const rows = lane.rows.slice(first, end).map((row) => (takesPart(row) ? row! : undefined));
    const width = Math.max(1, ...rows.map((row) => (row === undefined ? 0 : row.tokens.length - row.cached)));
    const { feeds, version } = this.#options.weights(name);
    const session = width === 1 ? this.#options.sessions.one : this.#options.sessions.many;
    const outputs = await session.run({
      ...feeds,
      ...this.#tokenFeeds(rows, width),
      ...lane.rotation.feeds,
      ...this.#cacheFeeds(lane, first, rows),
    });
    const { config } = this.#options;
    for (let layer = 0; layer < config.layers; layer++) {
      const fresh = {
        keys: outputs[`newKeys.${layer}`]!.data as Float32Array,
        values: outputs[`newValues.${layer}`]!.data as Float32Array,
      };
      rows.forEach((row, b) => {
        // a row that was aborted meanwhile is not there any more
        if (row !== undefined && lane.rows[first + b] === row)
          lane.cache.write(layer, first + b, row.cached, fresh, b, width, row.tokens.length - row.cached);
      });
    }
    const probabilities = outputs.probabilities!.data as Float32Array;
    rows.forEach((row, b) => {
      if (row === undefined || lane.rows[first + b] !== row) return;
      row.cached = row.tokens.length;
      row.used = this.#clock;
      const stop = this.#extend(
        row,
        probabilities.subarray(b * config.vocabularySize, (b + 1) * config.vocabularySize),
        version,
      );
      if (stop !== undefined) this.#complete(lane, first + b, stop);
    });
  }

  #tokenFeeds(rows: readonly (Row | undefined)[], width: number): Feeds {
    const count = rows.length;
    const tokens = new Int32Array(count * width);
    const positions = new Int32Array(count * width);
    const wanted = new Int32Array(count);
    const inverse = new Float32Array(count).fill(1);
    rows.forEach((row, b) => {
      wanted[b] = b * width;
      if (row === undefined) return;
      for (let s = 0; row.cached + s < row.tokens.length; s++) {
        tokens[b * width + s] = row.tokens[row.cached + s]!;
        positions[b * width + s] = row.cached + s;
      }
      wanted[b] = b * width + row.tokens.length - row.cached - 1;
      inverse[b] = 1 / (row.answer!.request.temperature || 1);
    });
    return {
      tokens: integers(tokens, width === 1 ? [count] : [count, width]),
      positions: integers(positions, [count, width]),
      inverseTemperature: floats(inverse, [count, 1]),
      ...(width === 1 ? {} : { wanted: integers(wanted, [count]), newMask: floats(this.#mask(width), [width, width]) }),
    };
  }

  #mask(width: number): Float32Array {
    let mask = this.#masks.get(width);
    if (mask === undefined) {
      mask = causalMask(width);
      if (width <= 64) this.#masks.set(width, mask);
    }
    return mask;
  }

  #cacheFeeds(lane: Lane, first: number, rows: readonly (Row | undefined)[]): Feeds {
    const { config } = this.#options;
    // where nothing is cached yet, one hidden entry of zeros stands for the cache
    const isEmpty = rows.every((row) => (row?.cached ?? 0) === 0);
    const length = isEmpty ? 1 : lane.cache.length;
    const dims = [rows.length, config.keyValueHeads, length, config.headWidth];
    const nothing = isEmpty ? new Float32Array(rows.length * config.keyValueHeads * config.headWidth) : undefined;
    const feeds: Feeds = {};
    for (let layer = 0; layer < config.layers; layer++) {
      const { keys, values } =
        nothing === undefined ? lane.cache.view(layer, first, first + rows.length) : { keys: nothing, values: nothing };
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

  /** Draws a row's next token; says why the answer ends if it does. */
  #extend(row: Row, probabilities: Float32Array, version: number): SampleStop | undefined {
    const answer = row.answer!;
    const { request } = answer;
    const chosen: Chosen = chooseToken(probabilities, {
      uniform: uniformAt(request.seed, row.tokens.length),
      isGreedy: request.temperature === 0,
      ...(request.topP === undefined ? {} : { topP: request.topP }),
      ...(request.topK === undefined ? {} : { topK: request.topK }),
    });
    answer.tokens.push(chosen.token);
    answer.logprobs.push(chosen.logprob);
    answer.cutLogprobs.push(chosen.cutLogprob);
    answer.versions.push(version);
    for (const id of mostProbable(probabilities, request.alternatives ?? 0)) {
      answer.alternatives.tokens.push(id);
      answer.alternatives.logprobs.push(Math.log(probabilities[id]!));
    }
    row.tokens.push(chosen.token);
    if (answer.stopTokens.has(chosen.token)) return "stop-token";
    if (answer.matcher?.push(chosen.token)) return "stop-string";
    if (answer.tokens.length >= request.maxTokens) return "max-tokens";
    if (row.tokens.length >= this.#options.config.contextLength) return "context-full";
    return undefined;
  }

  #complete(lane: Lane, index: number, stop: SampleStop): void {
    const row = lane.rows[index]!;
    const answer = row.answer!;
    const { request } = answer;
    row.answer = undefined;
    if (row.rollout === undefined) lane.rows[index] = undefined;
    lane.shrink();
    const isCut = (request.topP ?? 1) < 1 || request.topK !== undefined;
    this.#options.finish(answer.id, {
      tokens: Int32Array.from(answer.tokens),
      logprobs: Float32Array.from(answer.logprobs),
      versions: Int32Array.from(answer.versions),
      stop,
      ...(isCut ? { cutLogprobs: Float32Array.from(answer.cutLogprobs) } : {}),
      ...(request.alternatives === undefined
        ? {}
        : {
            alternatives: {
              count: request.alternatives,
              tokens: Int32Array.from(answer.alternatives.tokens),
              logprobs: Float32Array.from(answer.alternatives.logprobs),
            },
          }),
    });
  }
}

/** Cache lengths come in steps, so that growing is rare and padding small. */
function bucketLength(length: number): number {
  const step = length <= 512 ? 32 : 2 ** Math.floor(Math.log2(length) - 3);
  return Math.ceil(length / step) * step;
}

function commonPrefix(a: readonly number[], b: readonly number[], limit: number): number {
  const end = Math.min(a.length, b.length, limit);
  let length = 0;
  while (length < end && a[length] === b[length]) length++;
  return length;
}

function sharesPrompt(a: readonly number[], b: readonly number[]): boolean {
  return commonPrefix(a, b, b.length - 1) >= Math.max(worthForking, b.length / 2);
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
