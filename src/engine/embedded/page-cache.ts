import { layerBytes, pageTokens, usedPieces } from "./kernels/attention-layout.ts";
import type { KernelMemory } from "./kernels/kernel-memory.ts";
import type { KernelShape } from "./kernels/kernel-shape.ts";

/** Bytes of KV cache of one page, all layers. */
export function pageBytes(shape: KernelShape): number {
  return shape.config.layers * layerBytes(shape);
}

/** Bytes of KV cache of one token, all layers. */
export function tokenBytes(shape: KernelShape): number {
  return pageBytes(shape) / pageTokens;
}

/**
 * The KV cache in pages of 256 tokens, in the memory of the kernels. Rows hold lists of pages; rows with a common prefix share
 * pages, and a page is free again when no row uses it. Memory is allocated on demand, up to a limit.
 */
export class PageCache {
  readonly #shape: KernelShape;
  readonly #memory: KernelMemory;
  readonly #listsStart: number;
  readonly #listBytes: number;
  readonly #maxPages: number;
  readonly #free: number[] = [];
  readonly #users = new Map<number, number>();
  readonly #freeLists: number[];
  #pages = 0;

  constructor(shape: KernelShape, memory: KernelMemory, options: { maxBytes: number; maxRows: number }) {
    this.#shape = shape;
    this.#memory = memory;
    this.#listBytes = 4 * Math.ceil(shape.config.contextLength / pageTokens);
    this.#listsStart = memory.demand(options.maxRows * this.#listBytes, "lists of pages");
    this.#freeLists = Array.from({ length: options.maxRows }, (_, i) => options.maxRows - 1 - i);
    this.#maxPages = Math.floor(options.maxBytes / pageBytes(shape));
  }

  /** A list for a new row; undefined when there are as many rows as may be. */
  takeList(): number | undefined {
    return this.#freeLists.pop();
  }

  giveBackList(list: number): void {
    this.#freeLists.push(list);
  }

  /** A page of one's own; undefined when the limit is reached. */
  takePage(): number | undefined {
    const page = this.#free.pop() ?? this.#newPage();
    if (page !== undefined) this.#users.set(page, 1);
    return page;
  }

  #newPage(): number | undefined {
    if (this.#pages === this.#maxPages) return undefined;
    const page = this.#memory.take(pageBytes(this.#shape));
    if (page !== undefined) this.#pages++;
    return page;
  }

  share(page: number): void {
    this.#users.set(page, this.#users.get(page)! + 1);
  }

  isShared(page: number): boolean {
    return this.#users.get(page)! > 1;
  }

  /** Copies the first tokens of a page to another. */
  copyPage(from: number, to: number, tokens: number): void {
    const memory = new Uint8Array(this.#memory.memory.buffer);
    for (let layer = 0; layer < this.#shape.config.layers; layer++) {
      for (const { offset, size } of usedPieces(this.#shape, tokens)) {
        const start = layer * layerBytes(this.#shape) + offset;
        memory.copyWithin(to + start, from + start, from + start + size);
      }
    }
  }

  giveBack(page: number): void {
    const users = this.#users.get(page)! - 1;
    if (users > 0) this.#users.set(page, users);
    else {
      this.#users.delete(page);
      this.#free.push(page);
    }
  }

  /** Writes a row's pages to its list; returns the list's address. */
  writeList(list: number, pages: readonly number[]): number {
    const address = this.#listsStart + list * this.#listBytes;
    this.#memory.integers(address, pages.length).set(pages);
    return address;
  }
}
