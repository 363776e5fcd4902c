import {
  type AttentionCall,
  AttentionKernel,
  layerBytes,
  pageTokens,
  scoreFloats,
  usedPieces,
} from "./attention-kernel.ts";
import type { ModelConfig } from "./model-config.ts";

const wasmPage = 65_536;
/** What a 32-bit address can reach, less what is not cache. */
const mostBytes = 2 ** 32 - 2 ** 26;
const alignment = 64;

/** Bytes of the keys and values of one page, all layers. */
export function pageBytes(config: ModelConfig): number {
  return config.layers * layerBytes(config);
}

/** Places in memory for one step of at most `stepTokens` tokens. */
type Scratch = Omit<AttentionCall, "count" | "written" | "layer">;

/** The tokens of a step, and which rows they belong to. */
export interface StepTokens {
  /** Addresses of the rows' page lists. */
  lists: readonly number[];
  positions: readonly number[];
}

/**
 * Keys and values in pages of 256 tokens, in the memory of the attention kernel. Rows hold lists of pages; rows that begin alike
 * share pages, and a page goes back when the last row has let it go. Memory is taken as it is needed, up to a limit.
 */
export class PageCache {
  readonly #config: ModelConfig;
  readonly #memory: WebAssembly.Memory;
  readonly #kernel: AttentionKernel;
  readonly #scratch: Scratch;
  readonly #listsStart: number;
  readonly #listBytes: number;
  readonly #pagesStart: number;
  readonly #limit: number;
  readonly #free: number[] = [];
  readonly #users = new Map<number, number>();
  readonly #freeLists: number[];
  #pagesEnd: number;

  constructor(config: ModelConfig, options: { maxBytes: number; maxRows: number; stepTokens: number }) {
    this.#config = config;
    const { heads, keyValueHeads, headWidth, contextLength } = config;
    let end = alignment;
    const take = (bytes: number): number => {
      const start = end;
      end += Math.ceil(bytes / alignment) * alignment;
      return start;
    };
    const floats = (perToken: number) => take(4 * options.stepTokens * perToken);
    this.#scratch = {
      pageLists: floats(1),
      positions: floats(1),
      queryKeys: floats((heads + keyValueHeads) * headWidth),
      values: floats(keyValueHeads * headWidth),
      out: floats(heads * headWidth),
      scores: take(4 * scoreFloats(config, contextLength)),
    };
    this.#listBytes = 4 * Math.ceil(contextLength / pageTokens);
    this.#listsStart = take(options.maxRows * this.#listBytes);
    this.#freeLists = Array.from({ length: options.maxRows }, (_, i) => options.maxRows - 1 - i);
    this.#pagesStart = take(0);
    this.#pagesEnd = this.#pagesStart;
    this.#limit = this.#pagesStart + Math.min(options.maxBytes, mostBytes);
    this.#memory = new WebAssembly.Memory({ initial: Math.ceil(end / wasmPage) });
    this.#kernel = new AttentionKernel(config, this.#memory);
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
    const size = pageBytes(this.#config);
    const end = this.#pagesEnd + size;
    if (end > this.#limit) return undefined;
    const missing = end - this.#memory.buffer.byteLength;
    if (missing > 0) {
      // by a half more each time, so that growing is rare
      const wish = Math.min(
        Math.max(missing, this.#memory.buffer.byteLength / 2),
        this.#limit - this.#memory.buffer.byteLength,
      );
      try {
        this.#memory.grow(Math.ceil(Math.max(missing, wish) / wasmPage));
      } catch {
        return undefined;
      }
    }
    const page = this.#pagesEnd;
    this.#pagesEnd = end;
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
    const memory = new Uint8Array(this.#memory.buffer);
    for (let layer = 0; layer < this.#config.layers; layer++) {
      for (const { offset, size } of usedPieces(this.#config, tokens)) {
        const start = layer * layerBytes(this.#config) + offset;
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
    new Uint32Array(this.#memory.buffer, address, pages.length).set(pages);
    return address;
  }

  /** Begins a step: which tokens there are, for all its layers. */
  setTokens({ lists, positions }: StepTokens): void {
    new Uint32Array(this.#memory.buffer, this.#scratch.pageLists, lists.length).set(lists);
    new Uint32Array(this.#memory.buffer, this.#scratch.positions, positions.length).set(positions);
  }

  /** Attention of one layer. Of `written` tokens the first `count` get an answer, `[count, heads·headWidth]`, valid until the next call. */
  attend(
    layer: number,
    queryKeys: Float32Array,
    values: Float32Array,
    tokens: { count: number; written: number },
  ): Float32Array {
    const { buffer } = this.#memory;
    new Float32Array(buffer, this.#scratch.queryKeys, queryKeys.length).set(queryKeys);
    new Float32Array(buffer, this.#scratch.values, values.length).set(values);
    const call: AttentionCall = { ...this.#scratch, ...tokens, layer };
    this.#kernel.run(call);
    return new Float32Array(buffer, this.#scratch.out, tokens.count * this.#config.heads * this.#config.headWidth);
  }
}
