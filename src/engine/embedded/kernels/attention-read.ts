import {
  blockAddress,
  blockTokens,
  bytes,
  headBytes,
  layerBytes,
  listOf,
  parameter,
  positionOf,
  projectedRow,
  tileTokens,
} from "./attention-layout.ts";
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
  isEqual,
  isLess,
  join,
  type Locals,
  load,
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

/** Tokens of a block whose values are written out in the loop. */
const unrolledTokens = 4;
/** What the parts of reading share, by local. */
interface Work {
  /** The row's list of pages, how many blocks of it count, how many tokens for the first query, and the bytes of a head's scores, and of a query's. */
  list: number;
  blocks: number;
  length: number;
  scoreBytes: number;
  queryBytes: number;
  query: number;
  out: number;
}

/** Attention of the tokens of a call, one after another or, where they follow each other in a row, some together. */
export function readAll(shape: KernelShape, locals: Locals, constants: Constants): Code {
  const { token, tile } = locals.named("integer", "token", "tile");
  const work = locals.named("integer", "list", "length", "blocks", "scoreBytes", "queryBytes", "query", "out");
  const { list, length, blocks, scoreBytes, queryBytes, query, out } = work;
  const readTile = (tokens: number) =>
    join(
      scoreKeys(shape, locals, work, tokens),
      softmaxScores(shape, locals, work, constants, tokens),
      weighValues(shape, locals, work, tokens),
    );
  const oneTile = join(
    set(tile, add(integer(1), multiply(isTile(token), integer(tileTokens - 1)))),
    set(list, listOf(token)),
    set(length, add(positionOf(token), integer(1))),
    set(blocks, shiftRight(add(get(length), integer(blockTokens - 1)), 4)),
    set(scoreBytes, shiftLeft(add(get(blocks), integer(1)), 6)),
    set(queryBytes, multiply(get(scoreBytes), integer(shape.config.heads))),
    set(query, projectedRow(shape, token)),
    set(out, add(parameter.out, multiply(get(token), integer(shape.rows.attended * bytes)))),
    when(isEqual(get(tile), integer(1)), readTile(1)),
    when(isEqual(get(tile), integer(tileTokens)), readTile(tileTokens)),
    set(token, add(get(token), get(tile))),
  );
  const isLeft = isLess(get(token), parameter.count);
  return join(set(token, integer(0)), when(isLeft, repeatWhile(oneTile, isLeft)));
}

/** Whether a token and those behind it follow each other in one row, in the same block of it. */
function isTile(token: number): Code {
  const behind = (array: Code, i: number) => loadInteger(add(array, shiftLeft(get(token), 2)), i * 4);
  const conditions = [
    isLess(add(get(token), integer(tileTokens - 1)), parameter.count),
    isLess(and(positionOf(token), blockTokens - 1), integer(blockTokens - tileTokens + 1)),
  ];
  for (let i = 1; i < tileTokens; i++) {
    conditions.push(
      isEqual(behind(parameter.pageLists, i), listOf(token)),
      isEqual(behind(parameter.positions, i), add(positionOf(token), integer(i))),
    );
  }
  return conditions.reduce(multiply);
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
function scoreKeys(shape: KernelShape, locals: Locals, work: Work, tokens: number): Code {
  const { paddedHeadWidth, config } = shape;
  const { heads, keyValueHeads } = config;
  const { page, head, query } = locals.named("integer", "page", "head", "query");
  const to_Q = locals.many("integer", tokens);
  // two sums of every second number: one alone would wait for each product
  const chains_Q = to_Q.map(() => [0, 1].map(() => locals.many("vector", blockTokens / 4)));
  const keys = locals.many("vector", blockTokens / 4);
  const factor = locals.make("vector");
  const products: Code[] = [];
  for (let d = 0; d < paddedHeadWidth; d++) {
    products.push(...keys.map((key, i) => set(key, load(get(page), (d * blockTokens + i * 4) * bytes))));
    chains_Q.forEach((chains, q) => {
      products.push(set(factor, loadSplat(get(query), (q * shape.rows.projected + d) * bytes)));
      chains[d % 2].forEach((sum, i) => {
        const [key, times] = [get(keys[i]), get(factor)];
        products.push(set(sum, d < 2 ? multiplyVector(key, times) : fused(key, times, get(sum))));
      });
    });
  }
  const queryHead = join(
    ...products,
    ...to_Q.map((to, q) => {
      const [even, odd] = chains_Q[q];
      const sums = even.map((sum, i) => addVector(get(sum), get(odd[i])));
      return join(storeAll(locals, get(to), sums), set(to, add(get(to), get(work.scoreBytes))));
    }),
    set(query, add(get(query), integer(paddedHeadWidth * bytes))),
  );
  // query heads of a group use the same keys
  const inGroup = locals.make("integer");
  const keyHead = join(
    countTo(inGroup, integer(heads / keyValueHeads), queryHead),
    set(page, add(get(page), integer(headBytes(shape)))),
  );
  const oneBlock = (index: number) =>
    join(set(query, get(work.query)), firstScores(work, index, to_Q), countTo(head, integer(keyValueHeads), keyHead));
  return eachBlock(shape, locals, work, page, oneBlock);
}

/** Sets locals to where the scores of each query's first head lie in a block. */
function firstScores({ queryBytes }: Work, index: number, locals_Q: readonly number[]): Code {
  const first = add(parameter.scores, shiftLeft(get(index), 6));
  return join(...locals_Q.map((local, q) => set(local, q === 0 ? first : add(get(locals_Q[q - 1]), get(queryBytes)))));
}

/** exp(scale · (score - largest)) in place of each head's scores, 0 behind the last key, and 1 / their sum after them. */
function softmaxScores(shape: KernelShape, locals: Locals, work: Work, constants: Constants, tokens: number): Code {
  const { query, head, scores, index, from, after } = locals.named(
    "integer",
    "query",
    "head",
    "scores",
    "index",
    "from",
    "after",
  );
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
  // each query sees one token more than the one before
  const oneQuery = join(
    countTo(head, integer(shape.config.heads), oneHead),
    set(work.length, add(get(work.length), integer(1))),
  );
  return join(set(scores, parameter.scores), countTo(query, integer(tokens), oneQuery));
}

/** The locals of weighing values: addresses, and of each query the address of its scores in a block. */
interface Weighing {
  tokens: number;
  page: number;
  out: number;
  first_Q: readonly number[];
}

/** Where the output of each query of a tile lies, from that of the first. */
const outAt = (shape: KernelShape, q: number, d: number) => (q * shape.rows.attended + d) * bytes;

/** Sums of the values, each times its weight, block by block. */
function weighValues(shape: KernelShape, locals: Locals, work: Work, tokens: number): Code {
  const { paddedHeadWidth, config } = shape;
  const { heads, keyValueHeads } = config;
  const { page, head, inGroup, out } = locals.named("integer", "page", "head", "inGroup", "out");
  const first_Q = locals.many("integer", tokens);
  const weight = locals.make("vector");
  const nextHead = join(
    set(out, add(get(out), integer(paddedHeadWidth * bytes))),
    ...first_Q.map((first) => set(first, add(get(first), get(work.scoreBytes)))),
  );
  const queryHead = join(weighBlock(shape, locals, { tokens, page, out, first_Q }), nextHead);
  const keyHead = join(
    countTo(inGroup, integer(heads / keyValueHeads), queryHead),
    set(page, add(get(page), integer(headBytes(shape)))),
  );
  const oneBlock = (index: number) =>
    join(set(out, get(work.out)), firstScores(work, index, first_Q), countTo(head, integer(keyValueHeads), keyHead));
  const vectors = Array.from({ length: paddedHeadWidth / 4 }, (_, i) => i * 4);
  const clearHead = join(
    ...first_Q.flatMap((_, q) => vectors.map((d) => store(get(out), splat(0), outAt(shape, q, d)))),
    set(out, add(get(out), integer(paddedHeadWidth * bytes))),
  );
  const scaleQuery = (first: number, q: number) => {
    const scaled = vectors.map((d) => multiplyVector(load(get(out), outAt(shape, q, d)), get(weight)));
    return join(set(weight, loadSplat(get(first))), storeAll(locals, get(out), scaled, outAt(shape, q, 0)));
  };
  return join(
    set(out, get(work.out)),
    countTo(head, integer(heads), clearHead),
    eachBlock(shape, locals, work, page, oneBlock, layerBytes(shape) / 2),
    set(out, get(work.out)),
    // what follows the scores of the last block
    firstScores(work, work.blocks, first_Q),
    countTo(head, integer(heads), join(...first_Q.map(scaleQuery), nextHead)),
  );
}

/** The values of one head in a block: two sums, of every second token, and as many numbers of the head at a time as registers hold. */
function weighBlock(shape: KernelShape, locals: Locals, { tokens, page, out, first_Q }: Weighing): Code {
  const { paddedHeadWidth } = shape;
  const { value, end } = locals.named("integer", "value", "end");
  const weights_Q = locals.many("integer", tokens);
  const weight = locals.make("vector");
  const partVectors = tokens === 1 ? 8 : 4;
  const values = locals.many("vector", partVectors);
  const sums_Q = weights_Q.map(() => [0, 1].map(() => locals.many("vector", partVectors)));
  const onePart = (start: number) => {
    const vectors = Math.min(partVectors, (paddedHeadWidth - start) / 4);
    const used = values.slice(0, vectors);
    const chains_Q = sums_Q.map((chains) => chains.map((sums) => sums.slice(0, vectors)));
    const oneToken = (token: number) =>
      join(
        ...used.map((local, i) => set(local, load(get(value), (token * paddedHeadWidth + start + i * 4) * bytes))),
        ...chains_Q.flatMap((chains, q) => [
          set(weight, loadSplat(get(weights_Q[q]), token * bytes)),
          ...chains[token % 2].map((sum, i) => set(sum, fused(get(used[i]), get(weight), get(sum)))),
        ]),
      );
    const someTokens = join(
      ...Array.from({ length: unrolledTokens }, (_, token) => oneToken(token)),
      set(value, add(get(value), integer(unrolledTokens * paddedHeadWidth * bytes))),
      ...weights_Q.map((weights) => set(weights, add(get(weights), integer(unrolledTokens * bytes)))),
    );
    return join(
      ...chains_Q.flatMap(([even, odd], q) => [
        ...even.map((sum, i) => set(sum, load(get(out), outAt(shape, q, start + i * 4)))),
        ...odd.map((sum) => set(sum, splat(0))),
      ]),
      set(value, get(page)),
      ...weights_Q.map((weights, q) => set(weights, get(first_Q[q]))),
      set(end, add(get(first_Q[0]), integer(blockTokens * bytes))),
      repeatWhile(someTokens, isLess(get(weights_Q[0]), get(end))),
      ...chains_Q.map(([even, odd], q) => {
        const sums = even.map((sum, i) => addVector(get(sum), get(odd[i])));
        return storeAll(locals, get(out), sums, outAt(shape, q, start));
      }),
    );
  };
  const parts = Math.ceil(paddedHeadWidth / (partVectors * 4));
  return join(...Array.from({ length: parts }, (_, i) => onePart(i * partVectors * 4)));
}
