import { describe, expect, test } from "vitest";
import { createRng } from "../../../random.ts";
import { productArguments, productKernel, productName } from "./product-kernel.ts";
import { assemble, Constants } from "./wasm-code.ts";

const columns = 32;

/** A kernel on random numbers; gives its result for the first rows, and the same in plain double precision. */
function setUp(options: { inner: number; stride: number; bias: boolean; onto: boolean }, panelWidth: number) {
  const memory = new WebAssembly.Memory({ initial: 4 });
  const module = new WebAssembly.Module(assemble([productKernel(options, panelWidth)], new Constants()));
  const { exports } = new WebAssembly.Instance(module, { host: { memory } });
  const kernel = exports[productName(options)] as (...addresses: number[]) => void;
  const floats = new Float32Array(memory.buffer);
  const rng = createRng(options.inner);
  const [states, weights, bias, out] = [1024, 65_536, 131_072, 196_608];
  const { inner, stride } = options;
  for (const [start, length] of [
    [states, 40 * stride],
    [bias, columns],
  ] as const) {
    for (let i = 0; i < length; i++) floats[start / 4 + i] = rng.normal();
  }
  const place = (k: number, n: number) =>
    weights / 4 + Math.floor(n / panelWidth) * panelWidth * inner + k * panelWidth + (n % panelWidth);
  for (let k = 0; k < inner; k++) for (let n = 0; n < columns; n++) floats[place(k, n)] = rng.normal();
  const weight = (k: number, n: number) => floats[place(k, n)];
  const exact = (row: number, n: number) => {
    let sum = (options.bias ? floats[bias / 4 + n] : 0) + (options.onto ? 0.5 : 0);
    for (let k = 0; k < inner; k++) sum += floats[states / 4 + row * stride + k] * weight(k, n);
    return sum;
  };
  const run = (rows: number) => {
    const all = floats.subarray(out / 4, out / 4 + (rows + 1) * columns);
    all.fill(0.5);
    const call = { states, weights, bias, out, panels: columns / panelWidth, outStride: columns * 4 };
    kernel(...productArguments(call, rows));
    return all.slice();
  };
  return { run, exact };
}

const shapes = [
  { inner: 1, stride: 16, bias: false, onto: false },
  { inner: 7, stride: 16, bias: true, onto: false },
  { inner: 64, stride: 64, bias: false, onto: true },
  { inner: 130, stride: 144, bias: true, onto: true },
];

describe.each([8, 16])("products with panels of %d columns", (panelWidth) => {
  test.each(shapes)("sum $inner numbers in any number of rows, bias $bias, onto $onto", (options) => {
    const { run, exact } = setUp(options, panelWidth);
    const most = run(40);
    for (const rows of [1, 2, 5, 6, 7, 11, 12, 13, 31, 40]) {
      const result = run(rows);
      for (let row = 0; row < rows; row++) {
        for (let n = 0; n < columns; n++) expect(result[row * columns + n]).toBeCloseTo(exact(row, n), 4);
      }
      // the bits of a row do not depend on how many rows there are, and nothing is written behind the last
      expect(result.subarray(0, rows * columns)).toEqual(most.subarray(0, rows * columns));
      expect(new Set(result.subarray(rows * columns))).toEqual(new Set([0.5]));
    }
  });
});

test.each(shapes)("the width of panels does not change a bit: $inner numbers", (options) => {
  expect(setUp(options, 8).run(13)).toEqual(setUp(options, 16).run(13));
});
