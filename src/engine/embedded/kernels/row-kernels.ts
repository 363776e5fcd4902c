import { exponentials } from "./exponential.ts";
import type { KernelShape } from "./kernel-shape.ts";
import { across, softmaxParts } from "./softmax-parts.ts";
import {
  absoluteVector,
  add,
  addFloat,
  addVector,
  type Code,
  type Constants,
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
  load,
  loadSplat,
  multiplyFloat,
  multiplyVector,
  negateVector,
  rootFloat,
  set,
  shiftLeft,
  splat,
  splatOf,
  store,
  storeAll,
  storeFloat,
  subtractVector,
} from "./wasm-code.ts";

// What happens to a row between the products: each kernel walks over `rows` rows. Numbers behind what counts stay zero.

const bytes = 4;
const vectorBytes = 16;

/** 1 / root of the mean square, of `count` numbers whose squares were summed in a vector. */
const inverseRoot = (squares: number, count: number, epsilon: number) =>
  splatOf(
    divideFloat(
      float(1),
      rootFloat(addFloat(multiplyFloat(across(get(squares), addFloat), float(1 / count)), float(epsilon))),
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
        countTo(index, vectors, join(set(squares, fused(load(get(at)), load(get(at)), get(squares))), step(at))),
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
 * Queries and keys of each row, in place: norms of their own where the model has them, then rope at the row's position.
 * Projected rows, cosines then sines of each row, rows, weights of the norms of queries and keys.
 */
export function ropeKernel(shape: KernelShape): KernelCode {
  const { config, paddedHalfWidth, paddedHeadWidth, rows } = shape;
  const locals = new Locals(5);
  const { row, head, at, table } = locals.named("integer", "row", "head", "at", "table");
  const vectors = paddedHalfWidth / 4;
  const rotateHead = join(
    ...Array.from({ length: vectors }, (_, i) =>
      rotateVector(locals, { at, table, low: i * vectorBytes, paddedHalfWidth }),
    ),
    set(at, add(get(at), integer(paddedHeadWidth * bytes))),
  );
  const heads = (count: number, weight: Code) =>
    countTo(
      head,
      integer(count),
      config.queryKeyNorm ? join(normHead(shape, locals, at, weight), rotateHead) : rotateHead,
    );
  const body = join(
    set(table, get(1)),
    set(at, get(0)),
    countTo(
      row,
      get(2),
      join(
        heads(config.heads, get(3)),
        heads(config.keyValueHeads, get(4)),
        set(
          at,
          add(get(at), integer((rows.projected - (config.heads + config.keyValueHeads) * paddedHeadWidth) * bytes)),
        ),
        set(table, add(get(table), integer(paddedHeadWidth * bytes))),
      ),
    ),
  );
  return { name: "rope", parameters: 5, locals, body };
}

function normHead({ config, paddedHeadWidth }: KernelShape, locals: Locals, at: number, weight: Code): Code {
  const { squares, factor } = locals.named("vector", "squares", "factor");
  const offsets = Array.from({ length: paddedHeadWidth / 4 }, (_, i) => i * vectorBytes);
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
function rotateVector(
  locals: Locals,
  { at, table, low, paddedHalfWidth }: { at: number; table: number; low: number; paddedHalfWidth: number },
): Code {
  const { first, second, cosine, sine } = locals.named("vector", "first", "second", "cosine", "sine");
  const high = low + paddedHalfWidth * bytes;
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

/** silu(gate) · up, sixteen numbers at a time: rows of gate then up, out, rows. */
export function gateKernel({ rows }: KernelShape, constants: Constants): KernelCode {
  const locals = new Locals(3);
  const { row, index, at, out } = locals.named("integer", "row", "index", "at", "out");
  const half = rows.gated * bytes;
  const four = [0, 1, 2, 3].map((i) => ({
    offset: i * vectorBytes,
    ...locals.named("vector", "gate", "small", "share"),
  }));
  const sixteen = join(
    ...four.flatMap(({ offset, gate, small }) => [
      set(gate, load(get(at), offset)),
      // of exp only what is at most 1 is used, so that nothing overflows
      set(small, negateVector(absoluteVector(get(gate)))),
    ]),
    exponentials(
      locals,
      constants,
      four.map(({ small }) => small),
    ),
    ...four.flatMap(({ gate, small, share }) => [
      set(share, divideVector(constants.float(1), addVector(constants.float(1), get(small)))),
      set(share, either(get(share), multiplyVector(get(small), get(share)), isAbove(get(gate), splat(0)))),
    ]),
    storeAll(
      locals,
      get(out),
      four.map(({ offset, gate, share }) =>
        multiplyVector(multiplyVector(get(gate), get(share)), load(get(at), half + offset)),
      ),
    ),
    set(at, add(get(at), integer(4 * vectorBytes))),
    set(out, add(get(out), integer(4 * vectorBytes))),
  );
  const oneRow = join(countTo(index, integer(rows.gated / 16), sixteen), set(at, add(get(at), integer(half))));
  const body = join(set(at, get(0)), set(out, get(1)), countTo(row, get(2), oneRow));
  return { name: "gate", parameters: 3, locals, body };
}

/** Logits to probabilities, in place: rows, the inverse temperature of each, how many rows, room for sixteen numbers. */
export function softmaxKernel({ config, rows }: KernelShape, constants: Constants): KernelCode {
  const locals = new Locals(4);
  const { row, index, at, start } = locals.named("integer", "row", "index", "at", "start");
  const { inverse, share } = locals.named("vector", "inverse", "share");
  const scratch = 3;
  const move = set(at, add(get(at), integer(4 * vectorBytes)));
  const loop = (body: Code) =>
    join(set(at, get(start)), countTo(index, integer(rows.vocabulary / 16), join(body, move)));
  const hidden = Array.from({ length: rows.vocabulary - config.vocabularySize }, (_, i) =>
    storeFloat(get(start), float(-1e30), (config.vocabularySize + i) * bytes),
  );
  const offsets = [0, 1, 2, 3].map((i) => i * vectorBytes);
  const oneRow = join(
    ...hidden,
    set(inverse, loadSplat(add(get(1), shiftLeft(get(row), 2)))),
    softmaxParts(locals, { from: at, scratch, loop, scale: get(inverse), constants }),
    set(share, loadSplat(get(scratch))),
    loop(
      storeAll(
        locals,
        get(at),
        offsets.map((offset) => multiplyVector(load(get(at), offset), get(share))),
      ),
    ),
    set(start, add(get(start), integer(rows.vocabulary * bytes))),
  );
  return { name: "softmax", parameters: 4, locals, body: join(set(start, get(0)), countTo(row, get(2), oneRow)) };
}
