import type { KernelShape } from "./kernel-shape.ts";
import { softmaxParts } from "./softmax-parts.ts";
import {
  add,
  addVector,
  and,
  type Code,
  type Constants,
  countTo,
  float,
  fused,
  get,
  integer,
  isLess,
  join,
  type KernelCode,
  Locals,
  load,
  loadFloat,
  loadInteger,
  loadSplat,
  multiply,
  multiplyVector,
  repeatWhile,
  set,
  shiftLeft,
  shiftRight,
  splat,
  store,
  storeAll,
  storeFloat,
  when,
} from "./wasm-code.ts";

/** Tokens that are computed at a time. Their keys lie `[paddedHeadWidth, 16]`: one load brings the same number of four keys. */
const blockTokens = 16;
/** Tokens of a page. Long pieces of memory are read faster: of 16, 64, 128 and 256 tokens, 256 were best, by a tenth or more. */
export const pageTokens = 256;
const blocksPerPage = pageTokens / blockTokens;
const bytes = 4;
/** Tokens of a block whose values are written out in the loop. */
const unrolledTokens = 4;

/** Bytes of the keys, or of the values, of one head in a block, and of all heads. */
function headBytes(shape: KernelShape): number {
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

/** How many scores there may be for rows up to a length: per head those of whole blocks and 1 / their sum. */
export function scoreFloats(shape: KernelShape, length: number): number {
  return shape.config.heads * (Math.ceil(length / blockTokens) + 1) * blockTokens;
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

const parameterNames = ["count", "written", "pageLists", "positions", "projected", "out", "scores", "layer"] as const;
const parameter = Object.fromEntries(parameterNames.map((name, i) => [name, get(i)])) as Record<
  (typeof parameterNames)[number],
  Code
>;

/**
 * Attention of single tokens to a paged cache, in WebAssembly with vectors. ONNX Runtime needs a product per row and head, padded
 * to a common length, and operators for masks, concatenation and softmax between them; here a row costs what it is long.
 * A token's result depends on its own row alone, and is the same whether it was part of a prompt or sampled.
 */
export function attentionKernel(shape: KernelShape, constants: Constants): KernelCode {
  const locals = new Locals(parameterNames.length);
  const body = join(writeEntries(shape, locals), readAll(shape, locals, constants));
  return { name: "attend", parameters: parameterNames.length, locals, body };
}

/** The arguments of the kernel, in its order. */
export function attentionArguments(call: AttentionCall): number[] {
  return parameterNames.map((name) => call[name]);
}

/** The address of a token's page list, and of its position. */
const listOf = (token: number) => loadInteger(add(parameter.pageLists, shiftLeft(get(token), 2)));
const positionOf = (token: number) => loadInteger(add(parameter.positions, shiftLeft(get(token), 2)));

const projectedRow = (shape: KernelShape, token: number) =>
  add(parameter.projected, multiply(get(token), integer(shape.rows.projected * bytes)));

/** Where the keys of a block of the layer lie. */
function blockAddress(shape: KernelShape, list: Code, block: Code): Code {
  const page = loadInteger(add(list, shiftLeft(shiftRight(block, Math.log2(blocksPerPage)), 2)));
  const inPage = multiply(and(block, blocksPerPage - 1), integer(blockBytes(shape)));
  return add(add(page, multiply(parameter.layer, integer(layerBytes(shape)))), inPage);
}

/** Puts the new keys and values of every token into its page. */
function writeEntries(shape: KernelShape, locals: Locals): Code {
  const { paddedHeadWidth, config } = shape;
  const { heads, keyValueHeads } = config;
  const { token, position, page, row, column, entry } = locals.named(
    "integer",
    "token",
    "position",
    "page",
    "row",
    "column",
    "entry",
  );
  const inBlock = and(get(position), blockTokens - 1);
  const copies: Code[] = [];
  for (let head = 0; head < keyValueHeads; head++) {
    const keys = head * headBytes(shape);
    const values = layerBytes(shape) / 2 + keys;
    for (let d = 0; d < paddedHeadWidth; d++) {
      const [key, value] = [heads + head, heads + keyValueHeads + head].map((part) =>
        loadFloat(get(row), (part * paddedHeadWidth + d) * bytes),
      ) as [Code, Code];
      copies.push(
        storeFloat(get(column), key, keys + d * blockTokens * bytes),
        storeFloat(get(entry), value, values + d * bytes),
      );
    }
  }
  const body = join(
    set(position, positionOf(token)),
    set(page, blockAddress(shape, listOf(token), shiftRight(get(position), 4))),
    set(row, projectedRow(shape, token)),
    set(column, add(get(page), shiftLeft(inBlock, 2))),
    set(entry, add(get(page), multiply(inBlock, integer(paddedHeadWidth * bytes)))),
    ...copies,
  );
  return when(isLess(integer(0), parameter.written), countTo(token, parameter.written, body));
}

/** What the parts of reading share, by local. */
interface Work {
  /** The row's list of pages, how many blocks and tokens of it count, and the bytes of a head's scores. */
  list: number;
  blocks: number;
  length: number;
  scoreBytes: number;
  query: number;
  out: number;
}

function readAll(shape: KernelShape, locals: Locals, constants: Constants): Code {
  const { token, list, length, blocks, scoreBytes, query, out } = locals.named(
    "integer",
    "token",
    "list",
    "length",
    "blocks",
    "scoreBytes",
    "query",
    "out",
  );
  const work = { list, length, blocks, scoreBytes, query, out };
  const oneToken = join(
    set(list, listOf(token)),
    set(length, add(positionOf(token), integer(1))),
    set(blocks, shiftRight(add(get(length), integer(blockTokens - 1)), 4)),
    set(scoreBytes, shiftLeft(add(get(blocks), integer(1)), 6)),
    set(query, projectedRow(shape, token)),
    set(out, add(parameter.out, multiply(get(token), integer(shape.rows.attended * bytes)))),
    scoreKeys(shape, locals, work),
    softmaxScores(shape, locals, work, constants),
    weighValues(shape, locals, work),
  );
  return when(isLess(integer(0), parameter.count), countTo(token, parameter.count, oneToken));
}

/** Runs the body for every block of the row, with the address of its keys, or at an offset, in this layer. */
function eachBlock(
  shape: KernelShape,
  locals: Locals,
  { list, blocks }: Work,
  address: number,
  body: (index: number) => Code,
  offset = 0,
): Code {
  const index = locals.make("integer");
  const start = add(blockAddress(shape, get(list), get(index)), integer(offset));
  return countTo(index, get(blocks), join(set(address, start), body(index)));
}

/** q·k of all heads, block by block: the keys of a page lie together, so memory is read in long pieces. */
function scoreKeys(shape: KernelShape, locals: Locals, work: Work): Code {
  const { paddedHeadWidth, config } = shape;
  const { heads, keyValueHeads } = config;
  const { page, head, query, to } = locals.named("integer", "page", "head", "query", "to");
  // two sums of every second number: one alone would wait for each product
  const chains = [0, 1].map(() => locals.many("vector", blockTokens / 4));
  const factor = locals.make("vector");
  const products: Code[] = [];
  for (let d = 0; d < paddedHeadWidth; d++) {
    products.push(set(factor, loadSplat(get(query), d * bytes)));
    chains[d % 2].forEach((sum, i) => {
      const keys = load(get(page), (d * blockTokens + i * 4) * bytes);
      products.push(set(sum, d < 2 ? multiplyVector(keys, get(factor)) : fused(keys, get(factor), get(sum))));
    });
  }
  const queryHead = join(
    ...products,
    storeAll(
      locals,
      get(to),
      chains[0].map((sum, i) => addVector(get(sum), get(chains[1][i]))),
    ),
    set(query, add(get(query), integer(paddedHeadWidth * bytes))),
    set(to, add(get(to), get(work.scoreBytes))),
  );
  // query heads of a group use the same keys
  const inGroup = locals.make("integer");
  const keyHead = join(
    countTo(inGroup, integer(heads / keyValueHeads), queryHead),
    set(page, add(get(page), integer(headBytes(shape)))),
  );
  const oneBlock = (index: number) =>
    join(
      set(query, get(work.query)),
      set(to, add(parameter.scores, shiftLeft(get(index), 6))),
      countTo(head, integer(keyValueHeads), keyHead),
    );
  return eachBlock(shape, locals, work, page, oneBlock);
}

/** exp(scale · (score - largest)) in place of each head's scores, 0 behind the last key, and 1 / their sum after them. */
function softmaxScores(shape: KernelShape, locals: Locals, work: Work, constants: Constants): Code {
  const { head, scores, index, from, after } = locals.named("integer", "head", "scores", "index", "from", "after");
  const end = shiftLeft(get(work.blocks), 4);
  const hide = join(
    storeFloat(add(get(scores), shiftLeft(get(index), 2)), float(-1e30)),
    set(index, add(get(index), integer(1))),
  );
  const loop = (body: Code) =>
    join(set(from, get(scores)), countTo(index, get(work.blocks), join(body, set(from, add(get(from), integer(64))))));
  const oneHead = join(
    set(index, get(work.length)),
    when(isLess(get(index), end), repeatWhile(hide, isLess(get(index), end))),
    set(after, add(get(scores), shiftLeft(get(work.blocks), 6))),
    softmaxParts(locals, {
      from,
      scratch: after,
      loop,
      scale: constants.float(shape.config.headWidth ** -0.5),
      constants,
    }),
    set(scores, add(get(scores), get(work.scoreBytes))),
  );
  return join(set(scores, parameter.scores), countTo(head, integer(shape.config.heads), oneHead));
}

/**
 * Sums of the values, each times its weight, block by block; 32 numbers of a head at a time, which is what registers hold, and two
 * sums, of every second token.
 */
function weighValues(shape: KernelShape, locals: Locals, work: Work): Code {
  const { paddedHeadWidth, config } = shape;
  const { heads, keyValueHeads } = config;
  const { page, head, inGroup, value, weights, end, out, first } = locals.named(
    "integer",
    "page",
    "head",
    "inGroup",
    "value",
    "weights",
    "end",
    "out",
    "first",
  );
  const weight = locals.make("vector");
  const allSums = [0, 1].map(() => locals.many("vector", Math.min(8, paddedHeadWidth / 4)));
  const parts: Code[] = [];
  for (let start = 0; start < paddedHeadWidth; start += 32) {
    const vectors = Math.min(8, (paddedHeadWidth - start) / 4);
    const at = (token: number, i: number) => (token * paddedHeadWidth + start) * bytes + i * 16;
    const chains = allSums.map((sums) => sums.slice(0, vectors));
    const someTokens = Array.from({ length: unrolledTokens }, (_, token) => [
      set(weight, loadSplat(get(weights), token * bytes)),
      ...chains[token % 2].map((sum, i) => set(sum, fused(load(get(value), at(token, i)), get(weight), get(sum)))),
    ]);
    parts.push(
      ...chains[0].map((sum, i) => set(sum, load(get(out), at(0, i)))),
      ...chains[1].map((sum) => set(sum, splat(0))),
      set(value, get(page)),
      set(weights, get(first)),
      set(end, add(get(first), integer(blockTokens * bytes))),
      repeatWhile(
        join(
          ...someTokens.flat(),
          set(value, add(get(value), integer(unrolledTokens * paddedHeadWidth * bytes))),
          set(weights, add(get(weights), integer(unrolledTokens * bytes))),
        ),
        isLess(get(weights), get(end)),
      ),
      storeAll(
        locals,
        get(out),
        chains[0].map((sum, i) => addVector(get(sum), get(chains[1][i]))),
        at(0, 0),
      ),
    );
  }
  const queryHead = join(
    ...parts,
    set(out, add(get(out), integer(paddedHeadWidth * bytes))),
    set(first, add(get(first), get(work.scoreBytes))),
  );
  const keyHead = join(
    countTo(inGroup, integer(heads / keyValueHeads), queryHead),
    set(page, add(get(page), integer(headBytes(shape)))),
  );
  const oneBlock = (index: number) =>
    join(
      set(out, get(work.out)),
      set(first, add(parameter.scores, shiftLeft(get(index), 6))),
      countTo(head, integer(keyValueHeads), keyHead),
    );
  const vectors = paddedHeadWidth / 4;
  const clear = Array.from({ length: heads * vectors }, (_, i) => store(get(work.out), splat(0), i * 16));
  const scaleHead = join(
    set(weight, loadSplat(add(get(first), shiftLeft(get(work.blocks), 6)))),
    storeAll(
      locals,
      get(out),
      Array.from({ length: vectors }, (_, i) => multiplyVector(load(get(out), i * 16), get(weight))),
    ),
    set(out, add(get(out), integer(paddedHeadWidth * bytes))),
    set(first, add(get(first), get(work.scoreBytes))),
  );
  return join(
    ...clear,
    eachBlock(shape, locals, work, page, oneBlock, layerBytes(shape) / 2),
    set(out, get(work.out)),
    set(first, parameter.scores),
    countTo(head, integer(heads), scaleHead),
  );
}
