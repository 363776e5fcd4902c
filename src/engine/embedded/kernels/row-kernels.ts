import { exponential } from "./exponential.ts";
import type { KernelShape } from "./kernel-shape.ts";
import {
  absoluteVector,
  add,
  addFloat,
  addVector,
  type Code,
  countTo,
  divideFloat,
  divideVector,
  either,
  float,
  fused,
  get,
  integer,
  isAbove,
  join,
  type KernelCode,
  Locals,
  lane,
  load,
  loadSplat,
  maxFloat,
  maxVector,
  multiplyFloat,
  multiplyVector,
  negateVector,
  rootFloat,
  set,
  shiftLeft,
  splat,
  splatOf,
  store,
  storeFloat,
  subtractVector,
} from "./wasm-code.ts";

// What happens to a row between the products: each kernel walks over `rows` rows. Numbers behind what counts stay zero.

const bytes = 4;
const vectorBytes = 16;

/** Four numbers of a vector in one. */
const across = (vector: number, combine: (a: Code, b: Code) => Code) =>
  combine(combine(lane(get(vector), 0), lane(get(vector), 1)), combine(lane(get(vector), 2), lane(get(vector), 3)));

/** 1 / root of the mean square, of `count` numbers whose squares were summed in a vector. */
const inverseRoot = (squares: number, count: number, epsilon: number) =>
  splatOf(
    divideFloat(
      float(1),
      rootFloat(addFloat(multiplyFloat(across(squares, addFloat), float(1 / count)), float(epsilon))),
    ),
  );

/** x / root mean square · weight: from, weight, to, rows. */
export function normKernel({ config, rows }: KernelShape): KernelCode {
  const locals = new Locals(4);
  const { row, index, at, weight, out } = locals.named("integer", "row", "index", "at", "weight", "out");
  const { squares, factor } = locals.named("vector", "squares", "factor");
  const [from, weights, to, count] = [get(0), get(1), get(2), get(3)];
  const vectors = integer(rows.states / 4);
  const body = join(
    set(at, from),
    set(out, to),
    countTo(
      row,
      count,
      join(
        set(squares, splat(0)),
        countTo(
          index,
          vectors,
          join(set(squares, fused(load(get(at)), load(get(at)), get(squares))), step(at)),
        ),
        set(factor, inverseRoot(squares, config.width, config.normEpsilon)),
        set(at, add(get(at), integer(-rows.states * bytes))),
        set(weight, weights),
        countTo(
          index,
          vectors,
          join(
            store(get(out), multiplyVector(multiplyVector(load(get(at)), get(factor)), load(get(weight)))),
            step(at),
            step(weight),
            step(out),
          ),
        ),
      ),
    ),
  );
  return { name: "norm", parameters: 4, locals, body };
}

const step = (address: number) => set(address, add(get(address), integer(vectorBytes)));

/**
 * Queries and keys of each row, in place: norms of their own where the model has them, then the rotation of the row's position.
 * Projected rows, cosines then sines of each row, rows, weights of the norms of queries and keys.
 */
export function turnKernel(shape: KernelShape): KernelCode {
  const { config, halfRoom, headRoom, rows } = shape;
  const locals = new Locals(5);
  const { row, head, at, table } = locals.named("integer", "row", "head", "at", "table");
  const vectors = halfRoom / 4;
  const turnHead = join(
    ...Array.from({ length: vectors }, (_, i) => turnVector(locals, { at, table, low: i * vectorBytes, halfRoom })),
    set(at, add(get(at), integer(headRoom * bytes))),
  );
  const heads = (count: number, weight: Code) =>
    countTo(head, integer(count), config.queryKeyNorm ? join(normHead(shape, locals, at, weight), turnHead) : turnHead);
  const body = join(
    set(table, get(1)),
    set(at, get(0)),
    countTo(
      row,
      get(2),
      join(
        heads(config.heads, get(3)),
        heads(config.keyValueHeads, get(4)),
        set(at, add(get(at), integer((rows.projected - (config.heads + config.keyValueHeads) * headRoom) * bytes))),
        set(table, add(get(table), integer(headRoom * bytes))),
      ),
    ),
  );
  return { name: "turn", parameters: 5, locals, body };
}

function normHead({ config, headRoom }: KernelShape, locals: Locals, at: number, weight: Code): Code {
  const { squares, factor } = locals.named("vector", "squares", "factor");
  const offsets = Array.from({ length: headRoom / 4 }, (_, i) => i * vectorBytes);
  return join(
    set(squares, splat(0)),
    ...offsets.map((offset) => set(squares, fused(load(get(at), offset), load(get(at), offset), get(squares)))),
    set(factor, inverseRoot(squares, config.headWidth, config.normEpsilon)),
    ...offsets.map((offset) =>
      store(get(at), multiplyVector(multiplyVector(load(get(at), offset), get(factor)), load(weight, offset)), offset),
    ),
  );
}

/** One vector of a head's first half against the same of its second. */
function turnVector(
  locals: Locals,
  { at, table, low, halfRoom }: { at: number; table: number; low: number; halfRoom: number },
): Code {
  const { first, second, cosine, sine } = locals.named("vector", "first", "second", "cosine", "sine");
  const high = low + halfRoom * bytes;
  return join(
    set(first, load(get(at), low)),
    set(second, load(get(at), high)),
    set(cosine, load(get(table), low)),
    set(sine, load(get(table), high)),
    store(
      get(at),
      subtractVector(multiplyVector(get(first), get(cosine)), multiplyVector(get(second), get(sine))),
      low,
    ),
    store(get(at), addVector(multiplyVector(get(second), get(cosine)), multiplyVector(get(first), get(sine))), high),
  );
}

/** silu(gate) · up: rows of gate then up, out, rows. */
export function gateKernel({ rows }: KernelShape): KernelCode {
  const locals = new Locals(3);
  const { row, index, at, out } = locals.named("integer", "row", "index", "at", "out");
  const { gate, small, share } = locals.named("vector", "gate", "small", "share");
  const half = rows.gated * bytes;
  const oneVector = join(
    set(gate, load(get(at))),
    // of exp only what is at most 1 is used, so that nothing overflows
    set(small, negateVector(absoluteVector(get(gate)))),
    exponential(locals)(small),
    set(share, divideVector(splat(1), addVector(splat(1), get(small)))),
    set(share, either(get(share), multiplyVector(get(small), get(share)), isAbove(get(gate), splat(0)))),
    store(get(out), multiplyVector(multiplyVector(get(gate), get(share)), load(get(at), half))),
    step(at),
    step(out),
  );
  const body = join(
    set(at, get(0)),
    set(out, get(1)),
    countTo(
      row,
      get(2),
      join(countTo(index, integer(rows.gated / 4), oneVector), set(at, add(get(at), integer(half)))),
    ),
  );
  return { name: "gate", parameters: 3, locals, body };
}

/** Logits to probabilities, in place: rows, the inverse temperature of each, how many rows. */
export function softmaxKernel({ config, rows }: KernelShape): KernelCode {
  const locals = new Locals(3);
  const { row, index, at, start } = locals.named("integer", "row", "index", "at", "start");
  const { largest, sum, value, inverse } = locals.named("vector", "largest", "sum", "value", "inverse");
  const vectors = integer(rows.vocabulary / 4);
  const eachVector = (body: Code) => join(set(at, get(start)), countTo(index, vectors, join(body, step(at))));
  const hidden = Array.from({ length: rows.vocabulary - config.vocabularySize }, (_, i) =>
    storeFloat(get(start), float(-1e30), (config.vocabularySize + i) * bytes),
  );
  const oneRow = join(
    ...hidden,
    set(inverse, loadSplat(add(get(1), shiftLeft(get(row), 2)))),
    set(largest, splat(-1e30)),
    eachVector(set(largest, maxVector(get(largest), load(get(at))))),
    set(largest, splatOf(across(largest, maxFloat))),
    set(sum, splat(0)),
    eachVector(
      join(
        set(value, multiplyVector(subtractVector(load(get(at)), get(largest)), get(inverse))),
        exponential(locals)(value),
        store(get(at), get(value)),
        set(sum, addVector(get(sum), get(value))),
      ),
    ),
    set(sum, splatOf(divideFloat(float(1), across(sum, addFloat)))),
    eachVector(store(get(at), multiplyVector(load(get(at)), get(sum)))),
    set(start, add(get(start), integer(rows.vocabulary * bytes))),
  );
  return { name: "softmax", parameters: 3, locals, body: join(set(start, get(0)), countTo(row, get(2), oneRow)) };
}
