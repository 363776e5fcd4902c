import type { ModelConfig } from "./model-config.ts";
import {
  add,
  addFloat,
  addIntegers,
  addVector,
  and,
  assemble,
  type Code,
  divideFloat,
  float,
  fused,
  get,
  integer,
  isLess,
  join,
  Locals,
  lane,
  load,
  loadFloat,
  loadInteger,
  loadSplat,
  maxFloat,
  maxVector,
  multiply,
  multiplyVector,
  nearest,
  repeatWhile,
  set,
  shiftIntegersLeft,
  shiftLeft,
  shiftRight,
  splat,
  splatInteger,
  splatOf,
  store,
  storeFloat,
  subtractVector,
  toIntegers,
  when,
} from "./wasm-code.ts";

/** Tokens of a page. Keys lie `[headWidth, pageTokens]`, so that one load brings the same number of four keys. */
export const pageTokens = 16;
const bytes = 4;

/** Bytes of the keys, or of the values, of one head in a page. */
export function headBytes(config: ModelConfig): number {
  return pageTokens * config.headWidth * bytes;
}

/** Bytes of a layer in a page: per key/value head the keys, then the values. */
export function layerBytes(config: ModelConfig): number {
  return 2 * config.keyValueHeads * headBytes(config);
}

/** Addresses in the kernel's memory, and counts. */
export interface AttentionCall {
  /** How many tokens, of those given first, want an answer; all of them write their keys and values. */
  count: number;
  written: number;
  /** Per token: the address of its row's list of page addresses, and its position. */
  pageLists: number;
  positions: number;
  /** `[tokens, heads + keyValueHeads, headWidth]`, and `[tokens, keyValueHeads, headWidth]`. */
  queryKeys: number;
  values: number;
  /** `[count, heads, headWidth]`. */
  out: number;
  /** Room for the scores of one head. */
  scores: number;
  layer: number;
}

const parameterNames = [
  "count",
  "written",
  "pageLists",
  "positions",
  "queryKeys",
  "values",
  "out",
  "scores",
  "layer",
] as const;
const parameter = Object.fromEntries(parameterNames.map((name, i) => [name, get(i)])) as Record<
  (typeof parameterNames)[number],
  Code
>;

/**
 * Attention of single tokens to a paged cache, in WebAssembly with vectors. ONNX Runtime needs a product per row and head, padded
 * to a common length, and operators for masks, concatenation and softmax between them; here a row costs what it is long.
 * A token's result depends on its own row alone, and is the same whether it was part of a prompt or sampled.
 */
export class AttentionKernel {
  readonly #attend: (...addresses: number[]) => void;

  constructor(config: ModelConfig, memory: WebAssembly.Memory) {
    const module = new WebAssembly.Module(attentionModule(config));
    this.#attend = new WebAssembly.Instance(module, { host: { memory } }).exports.attend as (
      ...addresses: number[]
    ) => void;
  }

  run(call: AttentionCall): void {
    this.#attend(...parameterNames.map((name) => call[name]));
  }
}

function attentionModule(config: ModelConfig): Uint8Array<ArrayBuffer> {
  const locals = new Locals(parameterNames.length);
  return assemble("attend", parameterNames.length, locals, join(writeEntries(config, locals), readAll(config, locals)));
}

/** Runs the body for an index from 0 to below the limit; the limit must be above 0. */
function countTo(index: number, limit: Code, body: Code): Code {
  const next = set(index, add(get(index), integer(1)));
  return join(set(index, integer(0)), repeatWhile(join(body, next), isLess(get(index), limit)));
}

/** The address of a token's page list, and of its position. */
const listOf = (token: number) => loadInteger(add(parameter.pageLists, shiftLeft(get(token), 2)));
const positionOf = (token: number) => loadInteger(add(parameter.positions, shiftLeft(get(token), 2)));

/** Puts the new keys and values of every token into its page. */
function writeEntries(config: ModelConfig, locals: Locals): Code {
  const { heads, keyValueHeads, headWidth } = config;
  const [token, position, page, key, value] = locals.many("integer", 5) as [number, number, number, number, number];
  const rowBytes = (count: number) => count * headWidth * bytes;
  const inPage = and(get(position), pageTokens - 1);
  const copies: Code[] = [];
  for (let head = 0; head < keyValueHeads; head++) {
    const start = head * 2 * headBytes(config);
    for (let d = 0; d < headWidth; d++) {
      const source = head * headWidth * bytes + d * bytes;
      const column = add(get(page), shiftLeft(inPage, 2));
      copies.push(storeFloat(column, loadFloat(get(key), source), start + d * pageTokens * bytes));
      const row = add(get(page), multiply(inPage, integer(headWidth * bytes)));
      copies.push(storeFloat(row, loadFloat(get(value), source), start + headBytes(config) + d * bytes));
    }
  }
  const pageAddress = loadInteger(add(listOf(token), shiftLeft(shiftRight(get(position), 4), 2)));
  const body = join(
    set(position, positionOf(token)),
    set(page, add(pageAddress, multiply(parameter.layer, integer(layerBytes(config))))),
    set(
      key,
      add(
        parameter.queryKeys,
        add(multiply(get(token), integer(rowBytes(heads + keyValueHeads))), integer(rowBytes(heads))),
      ),
    ),
    set(value, add(parameter.values, multiply(get(token), integer(rowBytes(keyValueHeads))))),
    ...copies,
  );
  return countTo(token, parameter.written, body);
}

function readAll(config: ModelConfig, locals: Locals): Code {
  const { heads, keyValueHeads, headWidth } = config;
  const [token, head, list, length, pages, query, out, start] = locals.many("integer", 8) as [
    number,
    number,
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const group = heads / keyValueHeads;
  const work = { list, length, pages, query, start, out };
  // the offset of a query head's keys in a page of this layer; groups of query heads share one
  const keyHead = group === 1 ? get(head) : divideBy(get(head), group);
  const oneHead = join(
    set(
      start,
      add(multiply(parameter.layer, integer(layerBytes(config))), multiply(keyHead, integer(2 * headBytes(config)))),
    ),
    scoreKeys(config, locals, work),
    softmaxScores(config, locals, work),
    weighValues(config, locals, work),
    set(query, add(get(query), integer(headWidth * bytes))),
    set(out, add(get(out), integer(headWidth * bytes))),
  );
  const oneToken = join(
    set(list, listOf(token)),
    set(length, add(positionOf(token), integer(1))),
    set(pages, shiftRight(add(get(length), integer(pageTokens - 1)), 4)),
    set(query, add(parameter.queryKeys, multiply(get(token), integer((heads + keyValueHeads) * headWidth * bytes)))),
    set(out, add(parameter.out, multiply(get(token), integer(heads * headWidth * bytes)))),
    countTo(head, integer(heads), oneHead),
  );
  return when(isLess(integer(0), parameter.count), countTo(token, parameter.count, oneToken));
}

function divideBy(value: Code, divisor: number): Code {
  return [...value, ...integer(divisor), 0x6e];
}

interface Work {
  list: number;
  length: number;
  pages: number;
  query: number;
  out: number;
  /** Where the head's keys begin in each page. */
  start: number;
}

/** q·k of a head for all pages; what lies behind the last key is set very low. */
function scoreKeys(config: ModelConfig, locals: Locals, { list, length, pages, query, start }: Work): Code {
  const [index, page, to] = locals.many("integer", 3) as [number, number, number];
  const sums = locals.many("vector", pageTokens / 4);
  const factor = locals.make("vector");
  const products: Code[] = [];
  for (let d = 0; d < config.headWidth; d++) {
    products.push(set(factor, loadSplat(get(query), d * bytes)));
    sums.forEach((sum, i) => {
      const keys = load(get(page), (d * pageTokens + i * 4) * bytes);
      products.push(set(sum, d === 0 ? multiplyVector(keys, get(factor)) : fused(keys, get(factor), get(sum))));
    });
  }
  const onePage = join(
    set(page, add(loadInteger(add(get(list), shiftLeft(get(index), 2))), get(start))),
    ...products,
    set(to, add(parameter.scores, shiftLeft(get(index), 6))),
    ...sums.map((sum, i) => store(get(to), get(sum), i * 16)),
  );
  const hideRest = repeatWhile(
    join(
      storeFloat(add(parameter.scores, shiftLeft(get(index), 2)), float(-1e30)),
      set(index, add(get(index), integer(1))),
    ),
    isLess(get(index), shiftLeft(get(pages), 4)),
  );
  return join(
    countTo(index, get(pages), onePage),
    set(index, get(length)),
    when(isLess(get(index), shiftLeft(get(pages), 4)), hideRest),
  );
}

/** exp(scale · (score - largest)) in place of the scores, and 1 / their sum. */
function softmaxScores(config: ModelConfig, locals: Locals, work: Work & { inverse?: number }): Code {
  const [index, from] = locals.many("integer", 2) as [number, number];
  const [largest, sum, value, power] = locals.many("vector", 4) as [number, number, number, number];
  const eachVector = (body: Code) =>
    countTo(
      index,
      shiftLeft(get(work.pages), 2),
      join(set(from, add(parameter.scores, shiftLeft(get(index), 4))), body),
    );
  const across = (vector: number, combine: (a: Code, b: Code) => Code) =>
    combine(combine(lane(get(vector), 0), lane(get(vector), 1)), combine(lane(get(vector), 2), lane(get(vector), 3)));
  const scale = config.headWidth ** -0.5;
  return join(
    set(largest, splat(-1e30)),
    eachVector(set(largest, maxVector(get(largest), load(get(from))))),
    set(largest, splatOf(across(largest, maxFloat))),
    set(sum, splat(0)),
    eachVector(
      join(
        set(value, multiplyVector(subtractVector(load(get(from)), get(largest)), splat(scale))),
        exponential(value, power),
        store(get(from), get(value)),
        set(sum, addVector(get(sum), get(value))),
      ),
    ),
    // kept behind the scores, where the values are weighed
    storeFloat(add(parameter.scores, shiftLeft(get(work.pages), 6)), divideFloat(float(1), across(sum, addFloat))),
  );
}

/**
 * exp of a vector of numbers up to 0, within 2 units of the last place: 2^n times a polynomial in the rest, whose
 * coefficients are the usual least-maximum fit of degree 5 behind 1 + r.
 */
function exponential(value: number, power: number): Code {
  const polynomial = [1.9875691e-4, 1.3981999e-3, 8.333452e-3, 4.1665796e-2, 1.6666666e-1, 5e-1];
  const rest = get(value);
  const high = polynomial
    .slice(1)
    .reduce<Code>((sum, coefficient) => fused(sum, rest, splat(coefficient)), splat(polynomial[0]!));
  return join(
    set(value, maxVector(get(value), splat(-87))),
    set(power, nearest(multiplyVector(get(value), splat(Math.LOG2E)))),
    set(value, fused(get(power), splat(-0.693359375), get(value))),
    set(value, fused(get(power), splat(2.1219444e-4), get(value))),
    set(
      value,
      multiplyVector(
        addVector(fused(multiplyVector(rest, rest), high, rest), splat(1)),
        shiftIntegersLeft(addIntegers(toIntegers(get(power)), splatInteger(127)), 23),
      ),
    ),
  );
}

/** Sum of the values, each times its weight; 32 numbers of a head at a time, which is what fits into registers. */
function weighValues(config: ModelConfig, locals: Locals, { list, pages, out, start }: Work): Code {
  const [index, page, weights, end] = locals.many("integer", 4) as [number, number, number, number];
  const weight = locals.make("vector");
  const width = Math.min(32, config.headWidth);
  const sums = locals.many("vector", width / 4);
  const parts: Code[] = [];
  for (let first = 0; first < config.headWidth; first += width) {
    const oneToken = join(
      set(weight, loadSplat(get(weights))),
      ...sums.map((sum, i) => set(sum, fused(load(get(page), first * bytes + i * 16), get(weight), get(sum)))),
      set(page, add(get(page), integer(config.headWidth * bytes))),
      set(weights, add(get(weights), integer(bytes))),
    );
    const onePage = join(
      set(
        page,
        add(add(loadInteger(add(get(list), shiftLeft(get(index), 2))), get(start)), integer(headBytes(config))),
      ),
      set(end, add(get(weights), integer(pageTokens * bytes))),
      repeatWhile(oneToken, isLess(get(weights), get(end))),
    );
    parts.push(
      ...sums.map((sum) => set(sum, splat(0))),
      set(weights, parameter.scores),
      countTo(index, get(pages), onePage),
      // one past the last weight lies 1 / sum
      set(weight, loadSplat(get(weights))),
      ...sums.map((sum, i) => store(get(out), multiplyVector(get(sum), get(weight)), first * bytes + i * 16)),
    );
  }
  return join(...parts);
}
