import { exponentials } from "./exponential.ts";
import {
  addFloat,
  addVector,
  type Code,
  type Constants,
  divideFloat,
  float,
  get,
  join,
  type Locals,
  lane,
  load,
  loadSplat,
  maxFloat,
  maxVector,
  multiplyVector,
  set,
  splat,
  store,
  storeFloat,
  subtractVector,
} from "./wasm-code.ts";

/** Four numbers of a vector in one. */
export const across = (vector: Code, combine: (a: Code, b: Code) => Code): Code =>
  combine(combine(lane(vector, 0), lane(vector, 1)), combine(lane(vector, 2), lane(vector, 3)));

export interface SoftmaxParts {
  /** The local with the address of sixteen numbers, which `loop` moves over all there are. */
  from: number;
  loop(body: Code): Code;
  /** A local with the address of room for sixteen numbers; the first is 1 / their sum at the end. */
  scratch: number;
  /** A vector that the numbers are multiplied by. */
  scale: Code;
  constants: Constants;
}

/**
 * exp(scale · (number - largest)) in place, sixteen at a time, and 1 / their sum. What a loop gathers is stored side by side before it
 * is combined, because V8 looks for vectors of eight at neighbouring stores.
 */
export function softmaxParts(locals: Locals, { from, loop, scratch, scale, constants }: SoftmaxParts): Code {
  const gathered = locals.many("vector", 4);
  const values = locals.many("vector", 4);
  const largest = locals.make("vector");
  const combined = (vector: (a: Code, b: Code) => Code, one: (a: Code, b: Code) => Code) => {
    const [a, b, c, d] = gathered.map((_, i) => load(get(scratch), i * 16)) as [Code, Code, Code, Code];
    const all = locals.make("vector");
    return join(set(all, vector(vector(a, b), vector(c, d))), across(get(all), one));
  };
  const keep = join(...gathered.map((one, i) => store(get(scratch), get(one), i * 16)));
  return join(
    ...gathered.map((one) => set(one, splat(-1e30))),
    loop(join(...gathered.map((one, i) => set(one, maxVector(get(one), load(get(from), i * 16)))))),
    keep,
    storeFloat(get(scratch), combined(maxVector, maxFloat)),
    set(largest, loadSplat(get(scratch))),
    ...gathered.map((one) => set(one, splat(0))),
    loop(
      join(
        ...values.map((value, i) =>
          set(value, multiplyVector(subtractVector(load(get(from), i * 16), get(largest)), scale)),
        ),
        exponentials(locals, constants, values),
        ...values.map((value, i) => store(get(from), get(value), i * 16)),
        ...values.map((value, i) => set(gathered[i], addVector(get(gathered[i]), get(value)))),
      ),
    ),
    keep,
    storeFloat(get(scratch), divideFloat(float(1), combined(addVector, addFloat))),
  );
}
