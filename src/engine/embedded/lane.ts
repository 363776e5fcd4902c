import type { SampleRequest } from "../engine.ts";
import { KeyValueCache } from "./key-value-cache.ts";
import type { ModelConfig } from "./model-config.ts";
import type { Rotation } from "./rotations.ts";
import type { StopStringMatcher } from "../stop-strings.ts";

/** A request being answered, with what has been sampled so far. */
export interface Answer {
  readonly id: number;
  readonly request: SampleRequest;
  readonly tokens: number[];
  readonly logprobs: number[];
  readonly cutLogprobs: number[];
  readonly versions: number[];
  readonly alternatives: { tokens: number[]; logprobs: number[] };
  readonly stopTokens: ReadonlySet<number>;
  readonly matcher: StopStringMatcher | undefined;
}

/** A row of the cache: a token sequence and how many of its tokens the cache holds. */
export interface Row {
  tokens: number[];
  cached: number;
  /** Absent while the rollout is elsewhere, between two turns. */
  answer: Answer | undefined;
  rollout: string | undefined;
  /** When it was last used, in steps of the sampler; the longest idle goes first. */
  used: number;
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

  get occupied(): Row[] {
    return this.rows.filter((row) => row !== undefined);
  }

  /** The used lengths of all rows, as `resize` wants them. */
  #used(): number[] {
    return this.rows.map((row) => row?.cached ?? 0);
  }

  resize(rows: number, length: number): void {
    this.rows.length = Math.min(this.rows.length, rows);
    this.cache.resize(rows, length, this.#used());
  }

  /** Gives the lane's memory back once nothing is in it. */
  shrink(): void {
    while (this.rows.length > 0 && this.rows.at(-1) === undefined) this.rows.pop();
    if (this.rows.length === 0) this.resize(0, 0);
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
