import { exponentials } from "../kernels/exponential.ts";
import {
  absoluteVector,
  add,
  addVector,
  type Code,
  type Constants,
  divideVector,
  either,
  fused,
  get,
  integer,
  isAbove,
  join,
  type KernelCode,
  type Locals,
  load,
  multiply,
  multiplyVector,
  negateVector,
  set,
  shiftRight,
  splat,
  store,
  storeAll,
  subtractVector,
} from "../kernels/wasm-code.ts";
import { kernel, move, overRow, overRows, strideBytes, upTo, vectorBytes } from "./kernel-code.ts";

/** Rope of every head of every row, in place, or back. A row of `table` has the cosines, then the sines, of a position. */
export function ropeKernel(kind: "rotate" | "rotateBack"): KernelCode {
  const parameters = ["at", "atRow", "heads", "table", "rows", "half"];
  // half: bytes of half a head, a multiple of 32
  return kernel(kind, parameters, (p, locals) => {
    const head = locals.make("integer");
    const whole = multiply(p.half, integer(2));
    return overRows(
      locals,
      p.rows,
      [
        [p.at, p.atRow],
        [p.table, whole],
      ],
      (row, table) =>
        join(
          set(head, row),
          upTo(
            locals,
            p.heads,
            join(
              overRows(
                locals,
                shiftRight(p.half, 5),
                [
                  [get(head), integer(32)],
                  [table, integer(32)],
                ],
                (low, cosines) => rotateEight(locals, kind, { low, cosines, half: p.half }),
              ),
              move(head, whole),
            ),
          ),
        ),
    );
  });
}

function rotateEight(
  locals: Locals,
  kind: "rotate" | "rotateBack",
  { low, cosines, half }: { low: Code; cosines: Code; half: Code },
): Code {
  const { high, sines } = locals.named("integer", "high", "sines");
  const two = [0, 1].map((i) => ({ o: i * vectorBytes, ...locals.named("vector", "x", "y", "c", "s", "a", "b") }));
  return join(
    set(high, add(low, half)),
    set(sines, add(cosines, half)),
    ...two.flatMap(({ o, x, y, c, s }) => [
      set(x, load(low, o)),
      set(y, load(get(high), o)),
      set(c, load(cosines, o)),
      set(s, kind === "rotate" ? load(get(sines), o) : negateVector(load(get(sines), o))),
    ]),
    ...two.flatMap(({ x, y, c, s, a, b }) => [
      set(a, subtractVector(multiplyVector(get(x), get(c)), multiplyVector(get(y), get(s)))),
      set(b, addVector(multiplyVector(get(y), get(c)), multiplyVector(get(x), get(s)))),
    ]),
    ...two.map(({ o, a }) => store(low, get(a), o)),
    ...two.map(({ o, b }) => store(get(high), get(b), o)),
  );
}

/** Vectors of sigmoid, from vectors that are kept. */
function sigmoids(locals: Locals, constants: Constants, values: readonly number[]): { code: Code; shares: number[] } {
  const small = values.map(() => locals.make("vector"));
  const shares = values.map(() => locals.make("vector"));
  const code = join(
    // of exp only what is at most 1 is used, so that nothing overflows
    ...small.map((one, i) => set(one, negateVector(absoluteVector(get(values[i]))))),
    exponentials(locals, constants, small),
    ...shares.flatMap((share, i) => [
      set(share, divideVector(constants.float(1), addVector(constants.float(1), get(small[i])))),
      set(share, either(get(share), multiplyVector(get(small[i]), get(share)), isAbove(get(values[i]), splat(0)))),
    ]),
  );
  return { code, shares };
}

/** silu(gate)·up of rows that have gate, then up. */
export function gateKernel(constants: Constants): KernelCode {
  return kernel("gate", ["from", "to", "rows", "strides"], (p, locals) => {
    const half = multiply(p.strides, integer(strideBytes));
    return overRows(
      locals,
      p.rows,
      [
        [p.from, multiply(half, integer(2))],
        [p.to, half],
      ],
      (from, to) =>
        overRow(locals, p.strides, [from, add(from, half), to], (gates, ups, out) => {
          const gate = locals.many("vector", 4);
          const { code, shares } = sigmoids(locals, constants, gate);
          return join(
            ...gate.map((one, i) => set(one, load(gates, i * vectorBytes))),
            code,
            storeAll(
              locals,
              out,
              gate.map((one, i) =>
                multiplyVector(multiplyVector(get(one), get(shares[i])), load(ups, i * vectorBytes)),
              ),
            ),
          );
        }),
    );
  });
}

/** Derivatives of gate and up, from that of their product: gate's is g·up·s·(1 + gate·(1 - s)), up's g·gate·s. */
export function gateBackwardKernel(constants: Constants): KernelCode {
  return kernel("gateBackward", ["from", "gradient", "to", "rows", "strides"], (p, locals) => {
    const half = multiply(p.strides, integer(strideBytes));
    const whole = multiply(half, integer(2));
    return overRows(
      locals,
      p.rows,
      [
        [p.from, whole],
        [p.gradient, half],
        [p.to, whole],
      ],
      (from, gradient, to) =>
        overRow(
          locals,
          p.strides,
          [from, add(from, half), gradient, to, add(to, half)],
          (gates, ups, g, dGate, dUp) => {
            const gate = locals.many("vector", 4);
            const given = locals.many("vector", 4);
            const rise = locals.many("vector", 4);
            const { code, shares } = sigmoids(locals, constants, gate);
            const one = constants.float(1);
            return join(
              ...gate.flatMap((local, i) => [
                set(local, load(gates, i * vectorBytes)),
                set(given[i], load(g, i * vectorBytes)),
              ]),
              code,
              ...rise.map((local, i) => set(local, fused(get(gate[i]), subtractVector(one, get(shares[i])), one))),
              ...given.map((local, i) => set(local, multiplyVector(get(local), get(shares[i])))),
              storeAll(
                locals,
                dGate,
                rise.map((local, i) =>
                  multiplyVector(multiplyVector(get(local), get(given[i])), load(ups, i * vectorBytes)),
                ),
              ),
              storeAll(
                locals,
                dUp,
                given.map((local, i) => multiplyVector(get(local), get(gate[i]))),
              ),
            );
          },
        ),
    );
  });
}
