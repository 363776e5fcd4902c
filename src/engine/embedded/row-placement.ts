import { LudusError } from "../../errors.ts";
import type { Answer } from "../answer.ts";
import { policyWeights } from "../engine.ts";
import { cacheRowBytes } from "./key-value-cache.ts";
import { chunkLength, Lane, type Row } from "./lane.ts";
import type { ModelConfig } from "./model-config.ts";
import { lanes } from "./model-graph.ts";
import type { Rotations } from "./rotations.ts";

export interface RowPlacementOptions {
  config: ModelConfig;
  rotations: Rotations;
  /** Limit of all key/value caches together. */
  maxCacheBytes: number;
  maxRows: number;
}

const firstLaneLength = 256;
const laneRatio = 4;
/** A shared beginning shorter than this is computed again rather than copied. */
const worthForking = 8;
const fewestRows = 4;

/** Decides where rows live: which lane, which index, what memory, what can be taken over from another row. */
export class RowPlacement {
  readonly #options: RowPlacementOptions;
  readonly #lanes = new Map<string, Lane[]>();

  constructor(options: RowPlacementOptions) {
    this.#options = options;
  }

  /** All lanes with the name of their weights. */
  *lanes(): Generator<{ name: string; lane: Lane }> {
    for (const [name, lanes] of this.#lanes) for (const lane of lanes) yield { name, lane };
  }

  lanesOf(name: string): readonly Lane[] {
    return this.#lanes.get(name) ?? [];
  }

  forget(name: string): void {
    this.#lanes.delete(name);
  }

  /**
   * Finds a row for a request: its rollout's own, a fork of another with the same beginning, or an empty one. "later" when
   * another row is just computing what this one could take over; "full" when there is no memory until something ends.
   */
  place(answer: Answer, clock: number): "placed" | "later" | "full" | LudusError {
    const name = answer.request.weights ?? policyWeights;
    const tokens = answer.allTokens;
    if (this.#takeOwnRow(name, answer, tokens, clock)) return "placed";
    const available = this.#bestFork(name, tokens, (row) => row.prefilled);
    const expected = this.#bestFork(name, tokens, promptEnd);
    if ((expected?.length ?? 0) > (available?.length ?? 0)) return "later";
    const lane = this.#laneFor(name, tokens.length);
    const index = this.#claimRow(lane, tokens.length);
    if (index === undefined)
      return [...this.lanes()].some(({ lane: other }) => other.isBusy) ? "full" : this.tooSmall(tokens.length);
    const row: Row = { tokens, cached: 0, prefilled: 0, answer, rollout: answer.request.rollout, used: clock };
    // claiming a row may have moved things: look again
    const fork = this.#bestFork(name, tokens, (other) => other.prefilled);
    if (fork !== undefined && fork.lane.rotation === lane.rotation) {
      lane.cache.copyRow(fork.lane.cache, fork.index, index, fork.length);
      row.cached = row.prefilled = fork.length;
    }
    lane.rows[index] = row;
    return "placed";
  }

  #takeOwnRow(name: string, answer: Answer, tokens: number[], clock: number): boolean {
    const { rollout } = answer.request;
    if (rollout === undefined) return false;
    for (const lane of this.lanesOf(name)) {
      const row = lane.rows.find((candidate) => candidate?.rollout === rollout && candidate.answer === undefined);
      if (row === undefined) continue;
      row.cached = Math.min(commonPrefix(row.tokens, tokens, row.cached), tokens.length - 1);
      row.prefilled = Math.min(row.prefilled, row.cached);
      Object.assign(row, { tokens, answer, used: clock });
      return true;
    }
    return false;
  }

  /** The row with the longest usable common beginning, given how much of each row counts. */
  #bestFork(
    name: string,
    tokens: readonly number[],
    counts: (row: Row) => number,
  ): { lane: Lane; index: number; length: number } | undefined {
    let best: { lane: Lane; index: number; length: number } | undefined;
    for (const lane of this.lanesOf(name)) {
      lane.rows.forEach((row, index) => {
        if (row === undefined) return;
        const shared = commonPrefix(row.tokens, tokens, counts(row));
        const whole = tokens.length - 1;
        const length = shared >= whole ? whole : Math.floor(shared / chunkLength) * chunkLength;
        if (length >= worthForking && length > (best?.length ?? 0)) best = { lane, index, length };
      });
    }
    return best;
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

  /** A free index with room for a length, growing the lane or evicting idle rows; undefined when memory is full. */
  #claimRow(lane: Lane, length: number, isMove = false): number | undefined {
    const maxRows = this.#options.maxRows + (isMove ? 1 : 0);
    const total = [...this.lanes()].reduce(
      (sum, { lane: other }) => sum + other.rows.filter((row) => row !== undefined).length,
      0,
    );
    if (total >= maxRows && !this.#evictIdle()) return undefined;
    const index = lane.freeIndex();
    const { rows } = lane.cache;
    const enough = Math.max(cacheLength(length), lane.cache.length);
    const roomy = index < rows ? rows : Math.max(fewestRows, Math.min(2 * rows, maxRows), index + 1);
    if (this.#reserve(lane, roomy, enough) || this.#reserve(lane, Math.max(2, index + 1), enough)) return index;
    return this.#evictIdle() ? this.#claimRow(lane, length, isMove) : undefined;
  }

  #reserve(lane: Lane, rows: number, length: number): boolean {
    const others = [...this.lanes()].reduce(
      (sum, { lane: other }) => sum + (other === lane ? 0 : other.cache.bytes),
      0,
    );
    if (others + cacheRowBytes(this.#options.config, length) * rows > this.#options.maxCacheBytes) return false;
    lane.resize(rows, length);
    return true;
  }

  #evictIdle(): boolean {
    let oldest: { lane: Lane; index: number; used: number } | undefined;
    for (const { lane } of this.lanes()) {
      lane.rows.forEach((row, index) => {
        if (row === undefined || row.answer !== undefined) return;
        if (row.used < (oldest?.used ?? Number.POSITIVE_INFINITY)) oldest = { lane, index, used: row.used };
      });
    }
    oldest?.lane.free(oldest.index);
    return oldest !== undefined;
  }

  /**
   * Room for the next tokens of a lane's active rows. Rows that outgrow the lane move on; when memory is full the youngest
   * gives way. Returns the answers that have to wait, to be computed again later.
   */
  makeRoom(lane: Lane): Answer[] {
    const waiting: Answer[] = [];
    for (let index = 0; index < lane.rows.length; index++) {
      const row = lane.rows[index];
      if (row?.answer !== undefined && row.tokens.length > lane.maxLength && !this.#promote(lane, index))
        waiting.push(row.answer);
    }
    while (lane.isBusy) {
      const longest = Math.max(...lane.rows.map((row) => (row?.answer === undefined ? 0 : row.tokens.length)));
      const length = Math.max(cacheLength(longest), lane.cache.length);
      if (this.#reserve(lane, lane.cache.rows, length) || this.#reserve(lane, Math.max(2, lane.rows.length), length))
        break;
      if (this.#evictIdle()) continue;
      const youngest = lane.rows.findLastIndex((row) => row?.answer !== undefined);
      waiting.push(lane.rows[youngest]!.answer!);
      lane.free(youngest);
    }
    return waiting;
  }

  #promote(lane: Lane, index: number): boolean {
    const row = lane.rows[index]!;
    const next = this.#laneFor(row.answer!.request.weights ?? policyWeights, row.tokens.length);
    const target = this.#claimRow(next, row.tokens.length, true);
    if (target !== undefined) {
      if (next.rotation === lane.rotation) next.cache.copyRow(lane.cache, index, target, row.cached);
      else row.cached = row.prefilled = 0;
      next.rows[target] = row;
    }
    lane.free(index);
    return target !== undefined;
  }

  tooSmall(length: number): LudusError {
    const need = 2 * cacheRowBytes(this.#options.config, cacheLength(length));
    return new LudusError("cache-too-small", {
      got: `a sequence of ${length} tokens, whose keys and values take ${(need / 2 ** 20).toFixed(1)} MiB`,
      expected: `at most ${(this.#options.maxCacheBytes / 2 ** 20).toFixed(1)} MiB, the cache of one thread`,
      hint: "Raise `maxCacheBytes`, or shorten the sequence.",
    });
  }
}

/** How far a row will have been computed as a prompt once it is done with that. */
function promptEnd(row: Row): number {
  const isPrefilling = row.answer !== undefined && row.cached === row.prefilled;
  return isPrefilling ? Math.max(row.prefilled, row.tokens.length - 1) : row.prefilled;
}

/** Cache lengths come in steps, multiples of `lanes`, so that growing is rare and padding small. */
function cacheLength(length: number): number {
  const step = length <= 512 ? 2 * lanes : 2 ** Math.floor(Math.log2(length) - 3);
  return Math.ceil(length / step) * step;
}

function commonPrefix(a: readonly number[], b: readonly number[], limit: number): number {
  const end = Math.min(a.length, b.length, limit);
  let length = 0;
  while (length < end && a[length] === b[length]) length++;
  return length;
}
