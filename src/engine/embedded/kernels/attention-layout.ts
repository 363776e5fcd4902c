import type { KernelShape } from "./kernel-shape.ts";
import { add, and, type Code, get, integer, loadInteger, multiply, shiftLeft, shiftRight } from "./wasm-code.ts";

// How the KV cache lies in pages, and what the parts of the attention kernel know of each other.

/** Tokens that are computed at a time. Their keys lie `[paddedHeadWidth, 16]`: one load brings the same number of four keys. */
export const blockTokens = 16;
/** Tokens of a page. Long pieces of memory are read faster: of 16, 64, 128 and 256 tokens, 256 were best, by a tenth or more. */
export const pageTokens = 256;
const blocksPerPage = pageTokens / blockTokens;
export const bytes = 4;
/** Tokens of a prompt that are computed together: keys and values are loaded once for all, and their sums fill the registers. */
export const tileTokens = 3;

/** Bytes of the keys, or of the values, of one head in a block, and of all heads. */
export function headBytes(shape: KernelShape): number {
  return blockTokens * shape.paddedHeadWidth * bytes;
}

function blockBytes(shape: KernelShape): number {
  return shape.config.keyValueHeads * headBytes(shape);
}

/** Bytes of a layer in a page: the keys of all blocks, then the values. */
export function layerBytes(shape: KernelShape): number {
  return 2 * blocksPerPage * blockBytes(shape);
}

/** The pieces of a page's layer that hold its first tokens, as offset and size. */
export function usedPieces(shape: KernelShape, tokens: number): { offset: number; size: number }[] {
  const size = Math.ceil(tokens / blockTokens) * blockBytes(shape);
  return [0, layerBytes(shape) / 2].map((offset) => ({ offset, size }));
}

/** How many scores there may be for rows up to a length: per token and head those of whole blocks and 1 / their sum. */
export function scoreFloats(shape: KernelShape, length: number): number {
  return tileTokens * shape.config.heads * (Math.ceil(length / blockTokens) + 1) * blockTokens;
}

/** Addresses in the kernel's memory, and counts. */
export interface AttentionCall {
  /** How many tokens, the first ones, attend, and how many write their keys and values before. */
  count: number;
  written: number;
  /** Per token: the address of its row's list of page addresses, and its position. */
  pageLists: number;
  positions: number;
  /** Queries, keys and values of all heads per written token, and the output of all heads per attending token. */
  projected: number;
  out: number;
  /** Room for the scores of all heads, `scoreFloats` for a length. */
  scores: number;
  layer: number;
}

export const parameterNames = [
  "count",
  "written",
  "pageLists",
  "positions",
  "projected",
  "out",
  "scores",
  "layer",
] as const;
export const parameter = Object.fromEntries(parameterNames.map((name, i) => [name, get(i)])) as Record<
  (typeof parameterNames)[number],
  Code
>;

/** The address of a token's page list, and of its position. */
export const listOf = (token: number) => loadInteger(add(parameter.pageLists, shiftLeft(get(token), 2)));
export const positionOf = (token: number) => loadInteger(add(parameter.positions, shiftLeft(get(token), 2)));

export const projectedRow = (shape: KernelShape, token: number) =>
  add(parameter.projected, multiply(get(token), integer(shape.rows.projected * bytes)));

/** Where the keys of a block of the layer lie. */
export function blockAddress(shape: KernelShape, list: Code, block: Code): Code {
  const page = loadInteger(add(list, shiftLeft(shiftRight(block, Math.log2(blocksPerPage)), 2)));
  const inPage = multiply(and(block, blocksPerPage - 1), integer(blockBytes(shape)));
  return add(add(page, multiply(parameter.layer, integer(layerBytes(shape)))), inPage);
}
