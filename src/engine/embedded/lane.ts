import type { Answer } from "../answer.ts";
import { KeyValueCache } from "./key-value-cache.ts";
import type { ModelConfig } from "./model-config.ts";
import type { Rotation } from "./rotations.ts";

/** A row of the cache: a token sequence and how many of its tokens the cache holds. */
export interface Row {
  tokens: number[];
  cached: number;
  /** How many of those, from the start, were computed as a prompt: only these are the same bits for every row. */
  prefilled: number;
  /** Absent while the rollout is elsewhere, between two turns. */
  answer: Answer | undefined;
  rollout: string | undefined;
  /** When it was last used, in steps of the sampler; the longest idle goes first. */
  used: number;
}

/**
 * Prompts are computed in pieces that end at multiples of this, and their last token as a decoding step. So what the cache
 * holds for a token depends on the tokens before it alone: not on who came first, and not on what else is in the batch.
 */
export const chunkLength = 128;

/** Where the next computation of a row ends; with one token missing that is a decoding step. */
export function nextEnd(row: Row): number {
  const beforeLast = row.tokens.length - 1;
  if (row.cached >= beforeLast) return row.tokens.length;
  return Math.min(beforeLast, (Math.floor(row.cached / chunkLength) + 1) * chunkLength);
}

/** Rows of similar length that decode together: a long row would make every short one as expensive as itself. */
export class Lane {
  readonly maxLength: number;
  readonly rotation: Rotation;
  readonly cache: KeyValueCache;
  readonly rows: (Row | undefined)[] = [];
  readonly #config: ModelConfig;

  constructor(config: ModelConfig, maxLength: number, rotation: Rotation) {
    this.maxLength = maxLength;
    this.rotation = rotation;
    this.#config = config;
    this.cache = new KeyValueCache(config);
  }

  get isBusy(): boolean {
    return this.rows.some((row) => row?.answer !== undefined);
  }

  resize(rows: number, length: number): void {
    const used = this.rows.map((row) => row?.cached ?? 0);
    this.cache.resize(rows, length, used);
  }

  free(index: number): void {
    this.rows[index] = undefined;
    while (this.rows.length > 0 && this.rows.at(-1) === undefined) this.rows.pop();
    if (this.rows.length === 0) this.resize(0, 0);
  }

  freeWhere(matches: (row: Row) => boolean): void {
    for (let index = this.rows.length - 1; index >= 0; index--) {
      const row = this.rows[index];
      if (row !== undefined && matches(row)) this.free(index);
    }
  }

  freeIndex(): number {
    const hole = this.rows.indexOf(undefined);
    return hole >= 0 ? hole : this.rows.length;
  }

  /** Moves the given rows to the front, so that a batch of them has no gaps. */
  gather(indices: readonly number[]): void {
    const spare = new KeyValueCache(this.#config);
    indices.forEach((from, to) => {
      const moving = this.rows[from]!;
      const standing = this.rows[to];
      if (from === to) return;
      if (standing !== undefined) {
        spare.resize(1, Math.max(1, standing.cached), []);
        spare.copyRow(this.cache, to, 0, standing.cached);
      }
      this.cache.copyRow(this.cache, from, to, moving.cached);
      if (standing !== undefined) this.cache.copyRow(spare, 0, from, standing.cached);
      this.rows[to] = moving;
      this.rows[from] = standing;
    });
  }
}
