import { LudusError } from "../../errors.ts";
import type { ActiveRequest } from "../active-request.ts";
import { policyWeights } from "../engine.ts";
import { commonPrefix } from "./common-prefix.ts";
import { pageTokens } from "./kernels/attention-layout.ts";
import type { KernelMemory } from "./kernels/kernel-memory.ts";
import type { KernelShape } from "./kernels/kernel-shape.ts";
import { PageCache, pageBytes } from "./page-cache.ts";

/** A token sequence and how many of its tokens the KV cache holds. */
export interface Row {
  readonly weights: string;
  tokens: number[];
  cached: number;
  pages: number[];
  /** The number of this row's page list, and its address. */
  readonly list: number;
  address: number;
  /** Absent between two turns of the rollout. */
  active: ActiveRequest | undefined;
  readonly rollout: string | undefined;
  /** Its KV cache is in part of earlier weights: no other row shares it. */
  isStale: boolean;
  /** When it was last used, in steps of the sampler: idle rows are evicted least recently used first. */
  used: number;
}

export interface RowsOptions {
  shape: KernelShape;
  memory: KernelMemory;
  /** Limit of the KV cache. */
  maxCacheBytes: number;
  maxRows: number;
}

/** Shorter common prefixes are neither copied nor waited for. */
const minSharedTokens = 8;

/** The rows of a thread and their pages of KV cache: allocation, prefix sharing, eviction and preemption. */
export class Rows {
  readonly cache: PageCache;
  readonly #options: RowsOptions;
  readonly #rows = new Set<Row>();

  constructor(options: RowsOptions) {
    this.#options = options;
    const { shape, memory, maxCacheBytes, maxRows } = options;
    this.cache = new PageCache(shape, memory, { maxBytes: maxCacheBytes, maxRows });
  }

  [Symbol.iterator](): Iterator<Row> {
    return this.#rows.values();
  }

  has(row: Row): boolean {
    return this.#rows.has(row);
  }

  /**
   * Finds a row for a request: its rollout's own or a new one, which shares the pages of another row with the same prefix.
   * "later" while another row is computing a prefix that this one can share; "full" until another request ends.
   */
  place(active: ActiveRequest, clock: number): "placed" | "later" | "full" {
    const weights = active.request.weights ?? policyWeights;
    const tokens = active.allTokens;
    const own = this.#ownRow(weights, active.request.rollout);
    if (own !== undefined) {
      this.#truncate(own, Math.min(commonPrefix(own.tokens, tokens, own.cached), tokens.length - 1));
      Object.assign(own, { tokens, active, used: clock });
      return "placed";
    }
    const cached = this.#longestPrefix(weights, tokens, (row) => row.cached);
    const pending = this.#longestPrefix(weights, tokens, (row) =>
      row.active === undefined ? row.cached : row.tokens.length,
    );
    if ((pending?.length ?? 0) >= (cached?.length ?? 0) + minSharedTokens) return "later";
    const list = this.cache.takeList() ?? (this.#evictIdle(cached?.row) ? this.cache.takeList() : undefined);
    if (list === undefined) return "full";
    const shared = cached === undefined ? { pages: [], cached: 0 } : this.#share(cached);
    const { rollout } = active.request;
    const row: Row = { weights, tokens, ...shared, list, address: 0, active, rollout, isStale: false, used: clock };
    this.#rows.add(row);
    return "placed";
  }

  /** Whole pages are shared; the last one, which both rows will write to, is copied. */
  #share({ row, length }: { row: Row; length: number }): { pages: number[]; cached: number } {
    const whole = Math.floor(length / pageTokens);
    const pages = row.pages.slice(0, whole);
    for (const page of pages) this.cache.share(page);
    const rest = length - whole * pageTokens;
    const copy = rest > 0 ? this.cache.takePage() : undefined;
    if (copy === undefined) return { pages, cached: whole * pageTokens };
    this.cache.copyPage(row.pages[whole], copy, rest);
    return { pages: [...pages, copy], cached: length };
  }

  #ownRow(weights: string, rollout: string | undefined): Row | undefined {
    if (rollout === undefined) return undefined;
    for (const row of this.#rows) {
      if (row.rollout === rollout && row.weights === weights && row.active === undefined) return row;
    }
    return undefined;
  }

  /** The row with the longest common prefix among its first `counts` tokens. The last token is always computed. */
  #longestPrefix(
    weights: string,
    tokens: readonly number[],
    counts: (row: Row) => number,
  ): { row: Row; length: number } | undefined {
    let best: { row: Row; length: number } | undefined;
    for (const row of this.#rows) {
      if (row.weights !== weights || row.isStale) continue;
      const length = commonPrefix(row.tokens, tokens, Math.min(counts(row), tokens.length - 1));
      if (length >= minSharedTokens && length > (best?.length ?? 0)) best = { row, length };
    }
    return best;
  }

  /** Keeps the first tokens of a row. A page that other rows share must not be written to: it is released whole. */
  #truncate(row: Row, cached: number): void {
    if (cached === row.cached) return;
    const whole = Math.floor(cached / pageTokens);
    const last = row.pages[whole];
    const keepsLast = last !== undefined && !this.cache.isShared(last);
    for (const page of row.pages.splice(keepsLast ? whole + 1 : whole)) this.cache.giveBack(page);
    row.cached = keepsLast ? cached : whole * pageTokens;
  }

  /** Drops the KV cache of a row; it will be prefilled again. */
  reset(row: Row): void {
    for (const page of row.pages.splice(0)) this.cache.giveBack(page);
    row.cached = 0;
    row.isStale = false;
  }

  /** The weights of these rows changed, and their caches stay. */
  keepStale(matches: (row: Row) => boolean): void {
    for (const row of this.#rows) if (matches(row) && row.cached > 0) row.isStale = true;
  }

  free(row: Row): void {
    if (!this.#rows.delete(row)) return;
    for (const page of row.pages.splice(0)) this.cache.giveBack(page);
    this.cache.giveBackList(row.list);
  }

  freeWhere(matches: (row: Row) => boolean): void {
    for (const row of [...this.#rows]) if (matches(row)) this.free(row);
  }

  /**
   * Allocates pages for a row up to a length. Idle rows are evicted first, then the newest active row is preempted: its request goes
   * to `preempted` and is prefilled again later. False when the row itself is the newest, or can never fit.
   */
  reserve(row: Row, length: number, preempted: (active: ActiveRequest) => void): boolean {
    const needed = Math.ceil(length / pageTokens);
    while (row.pages.length < needed) {
      const page = this.cache.takePage();
      if (page !== undefined) row.pages.push(page);
      else if (!this.#evictIdle() && !this.#preemptNewest(row, preempted)) return false;
    }
    row.address = this.cache.writeList(row.list, row.pages);
    return true;
  }

  #preemptNewest(row: Row, preempted: (active: ActiveRequest) => void): boolean {
    const newest = [...this.#rows].findLast((other) => other.active !== undefined);
    if (newest === undefined || newest === row) return false;
    preempted(newest.active!);
    this.free(newest);
    return true;
  }

  /** Evicts the least recently used idle row, except for `spared`. */
  #evictIdle(spared?: Row): boolean {
    let oldest: Row | undefined;
    for (const row of this.#rows) {
      if (row.active === undefined && row !== spared && row.used < (oldest?.used ?? Number.POSITIVE_INFINITY))
        oldest = row;
    }
    if (oldest !== undefined) this.free(oldest);
    return oldest !== undefined;
  }

  tooSmall(length: number): LudusError {
    const { shape, maxCacheBytes } = this.#options;
    const need = Math.ceil(length / pageTokens) * pageBytes(shape);
    return new LudusError("cache-too-small", {
      got: `a sequence of ${length} tokens, whose KV cache takes ${(need / 2 ** 20).toFixed(1)} MiB`,
      expected: `at most ${(maxCacheBytes / 2 ** 20).toFixed(1)} MiB, the cache of one thread`,
      hint: "Raise `maxCacheBytes`, or shorten the sequence.",
    });
  }
}
