import { LudusError } from "../../errors.ts";
import type { Answer } from "../answer.ts";
import { policyWeights } from "../engine.ts";
import { commonPrefix } from "./common-prefix.ts";
import { pageTokens } from "./kernels/attention-kernel.ts";
import type { KernelMemory } from "./kernels/kernel-memory.ts";
import type { KernelShape } from "./kernels/kernel-shape.ts";
import { PageCache, pageBytes } from "./page-cache.ts";
import type { Rotation } from "./rotations.ts";

/** A token sequence and how many of its tokens the cache holds. */
export interface Row {
  readonly weights: string;
  /** How its keys and queries were turned: with longrope that depends on the row's length. */
  rotation: Rotation;
  tokens: number[];
  cached: number;
  pages: number[];
  /** Which list of pages is this row's, and where it lies. */
  readonly list: number;
  address: number;
  /** Absent while the rollout is elsewhere, between two turns. */
  answer: Answer | undefined;
  readonly rollout: string | undefined;
  /** When it was last used, in steps of the sampler; the longest idle goes first. */
  used: number;
}

export interface RowsOptions {
  shape: KernelShape;
  memory: KernelMemory;
  /** Limit of the key/value cache. */
  maxCacheBytes: number;
  maxRows: number;
}

/** So many tokens are worth a copy, or a wait. */
const worthSharing = 8;

/** The rows of a thread and their pages: who gets memory, who shares it, who gives way. */
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
   * Finds a row for a request: its rollout's own or a new one, which shares the pages of another with the same beginning.
   * "later" when another row is just computing what this one could share; "full" when there is no room until something ends.
   */
  place(answer: Answer, rotation: Rotation, clock: number): "placed" | "later" | "full" {
    const weights = answer.request.weights ?? policyWeights;
    const tokens = answer.allTokens;
    const own = this.#ownRow(weights, answer.request.rollout);
    if (own !== undefined) {
      this.#truncate(own, Math.min(commonPrefix(own.tokens, tokens, own.cached), tokens.length - 1));
      Object.assign(own, { tokens, answer, used: clock });
      return "placed";
    }
    const kind = { weights, rotation };
    const known = this.#longestShare(kind, tokens, (row) => row.cached);
    const coming = this.#longestShare(kind, tokens, (row) =>
      row.answer === undefined ? row.cached : row.tokens.length,
    );
    if ((coming?.length ?? 0) >= (known?.length ?? 0) + worthSharing) return "later";
    const list = this.cache.takeList() ?? (this.#evictIdle(known?.row) ? this.cache.takeList() : undefined);
    if (list === undefined) return "full";
    const shared = known === undefined ? { pages: [], cached: 0 } : this.#share(known);
    const { rollout } = answer.request;
    const row: Row = { weights, rotation, tokens, ...shared, list, address: 0, answer, rollout, used: clock };
    this.#rows.add(row);
    return "placed";
  }

  /** Whole pages are shared, the last one, which both rows will write to, is copied. */
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
      if (row.rollout === rollout && row.weights === weights && row.answer === undefined) return row;
    }
    return undefined;
  }

  /** The row with the longest common beginning, of whose tokens so many count. The last token is always computed. */
  #longestShare(
    kind: Pick<Row, "weights" | "rotation">,
    tokens: readonly number[],
    counts: (row: Row) => number,
  ): { row: Row; length: number } | undefined {
    let best: { row: Row; length: number } | undefined;
    for (const row of this.#rows) {
      if (row.weights !== kind.weights || row.rotation !== kind.rotation) continue;
      const length = commonPrefix(row.tokens, tokens, Math.min(counts(row), tokens.length - 1));
      if (length >= worthSharing && length > (best?.length ?? 0)) best = { row, length };
    }
    return best;
  }

  /** Keeps the first tokens of a row. A page that others use too must not be written to again: it is let go whole. */
  #truncate(row: Row, cached: number): void {
    if (cached === row.cached) return;
    const whole = Math.floor(cached / pageTokens);
    const last = row.pages[whole];
    const keepsLast = last !== undefined && !this.cache.isShared(last);
    for (const page of row.pages.splice(keepsLast ? whole + 1 : whole)) this.cache.giveBack(page);
    row.cached = keepsLast ? cached : whole * pageTokens;
  }

  /** Forgets what the row holds; it will be computed again. */
  reset(row: Row): void {
    for (const page of row.pages.splice(0)) this.cache.giveBack(page);
    row.cached = 0;
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
   * Pages for a row up to a length. Idle rows go first, then the youngest active one, whose answer is handed to `displaced`
   * and computed again later. False when the row itself had to give way or cannot ever fit.
   */
  reserve(row: Row, length: number, displaced: (answer: Answer) => void): boolean {
    const needed = Math.ceil(length / pageTokens);
    while (row.pages.length < needed) {
      const page = this.cache.takePage();
      if (page !== undefined) row.pages.push(page);
      else if (!this.#evictIdle() && !this.#displaceYoungest(row, displaced)) return false;
    }
    row.address = this.cache.writeList(row.list, row.pages);
    return true;
  }

  #displaceYoungest(row: Row, displaced: (answer: Answer) => void): boolean {
    const youngest = [...this.#rows].findLast((other) => other.answer !== undefined);
    if (youngest === undefined || youngest === row) return false;
    displaced(youngest.answer!);
    this.free(youngest);
    return true;
  }

  /** Lets go of the row that has been idle longest; not of the one to be spared. */
  #evictIdle(spared?: Row): boolean {
    let oldest: Row | undefined;
    for (const row of this.#rows) {
      if (row.answer === undefined && row !== spared && row.used < (oldest?.used ?? Number.POSITIVE_INFINITY))
        oldest = row;
    }
    if (oldest !== undefined) this.free(oldest);
    return oldest !== undefined;
  }

  tooSmall(length: number): LudusError {
    const { shape, maxCacheBytes } = this.#options;
    const need = Math.ceil(length / pageTokens) * pageBytes(shape);
    return new LudusError("cache-too-small", {
      got: `a sequence of ${length} tokens, whose keys and values take ${(need / 2 ** 20).toFixed(1)} MiB`,
      expected: `at most ${(maxCacheBytes / 2 ** 20).toFixed(1)} MiB, the cache of one thread`,
      hint: "Raise `maxCacheBytes`, or shorten the sequence.",
    });
  }
}
