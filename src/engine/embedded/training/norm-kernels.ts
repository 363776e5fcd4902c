import {
  addFloat,
  type Code,
  divideFloat,
  float,
  fused,
  get,
  integer,
  join,
  type KernelCode,
  load,
  loadFloat,
  loadSplat,
  multiplyFloat,
  multiplyVector,
  negateVector,
  rootFloat,
  set,
  splatOf,
  storeAll,
  storeFloat,
} from "../kernels/wasm-code.ts";
import { floatBytes, four, kernel, overRow, overRows, sumOverRow, vectorBytes } from "./kernel-code.ts";

// RMS norm of rows. `numbers` are 1 / width and epsilon; `inverse` has 1 / root mean square of each row.

export function normKernel(): KernelCode {
  const parameters = ["from", "fromRow", "weight", "to", "toRow", "inverse", "rows", "strides", "numbers", "scratch"];
  return kernel("norm", parameters, (p, locals) =>
    overRows(
      locals,
      p.rows,
      [
        [p.from, p.fromRow],
        [p.to, p.toRow],
        [p.inverse, integer(floatBytes)],
      ],
      (from, to, inverse) => {
        const term = (sum: Code, offset: number, x: Code) => fused(load(x, offset), load(x, offset), sum);
        const squares = sumOverRow(locals, { strides: p.strides, from: [from], scratch: p.scratch, term });
        const mean = multiplyFloat(squares.total, loadFloat(p.numbers));
        const factor = locals.make("vector");
        return join(
          squares.code,
          storeFloat(inverse, divideFloat(float(1), rootFloat(addFloat(mean, loadFloat(p.numbers, floatBytes))))),
          set(factor, loadSplat(inverse)),
          overRow(locals, p.strides, [from, p.weight, to], (x, weight, out) => {
            const value = (offset: number) =>
              multiplyVector(multiplyVector(load(x, offset), get(factor)), load(weight, offset));
            return storeAll(
              locals,
              out,
              four.map((i) => value(i * vectorBytes)),
            );
          }),
        );
      },
    ),
  );
}

/**
 * The norm's derivative: of its input, added to `dx` or written there, and of its weight, added to `dWeight`.
 * With w·g for weight times gradient: dx = inverse·(w·g) - x·inverse³·sum(w·g·x) / width, and dWeight = sum over rows of g·x·inverse.
 */
export function normBackwardKernel(kind: "onto" | "over"): KernelCode {
  const parameters = [
    ...["from", "fromRow", "gradient", "gradientRow", "weight", "inverse", "dx", "dxRow", "dWeight"],
    ...["rows", "strides", "numbers", "scratch"],
  ];
  return kernel(`normBackward ${kind}`, parameters, (p, locals) =>
    overRows(
      locals,
      p.rows,
      [
        [p.from, p.fromRow],
        [p.gradient, p.gradientRow],
        [p.dx, p.dxRow],
        [p.inverse, integer(floatBytes)],
      ],
      (from, gradient, dx, inverse) => {
        const sum = sumOverRow(locals, {
          strides: p.strides,
          from: [from, gradient, p.weight],
          scratch: p.scratch,
          term: (so, offset, x, g, w) => fused(multiplyVector(load(g, offset), load(w, offset)), load(x, offset), so),
        });
        const { factor, shrink } = locals.named("vector", "factor", "shrink");
        const one = loadFloat(inverse);
        const cube = multiplyFloat(multiplyFloat(one, one), one);
        const share = multiplyFloat(multiplyFloat(sum.total, loadFloat(p.numbers)), cube);
        return join(
          sum.code,
          set(shrink, negateVector(splatOf(share))),
          set(factor, loadSplat(inverse)),
          overRow(locals, p.strides, [from, gradient, p.weight, dx, p.dWeight], (x, g, w, out, dWeight) => {
            const values = locals.many("vector", 4);
            const weights = locals.many("vector", 4);
            const scaled = (o: number) => multiplyVector(multiplyVector(load(g, o), load(w, o)), get(factor));
            const start = (o: number) =>
              kind === "onto" ? fused(multiplyVector(load(g, o), load(w, o)), get(factor), load(out, o)) : scaled(o);
            return join(
              ...values.map((value, i) => set(value, fused(load(x, i * 16), get(shrink), start(i * 16)))),
              ...weights.map((value, i) => {
                const o = i * vectorBytes;
                return set(value, fused(multiplyVector(load(g, o), load(x, o)), get(factor), load(dWeight, o)));
              }),
              storeAll(locals, out, values.map(get)),
              storeAll(locals, dWeight, weights.map(get)),
            );
          }),
        );
      },
    ),
  );
}
