import {
  addIntegers,
  andBits,
  type Code,
  type Constants,
  fused,
  get,
  isAbove,
  join,
  type Locals,
  maxVector,
  multiplyVector,
  set,
  shiftIntegersLeft,
  subtractVector,
} from "./wasm-code.ts";

const polynomial = [1.9875691e-4, 1.3981999e-3, 8.333452e-3, 4.1665796e-2, 1.6666666e-1, 5e-1, 1];
/** Added to a small number, it leaves the nearest whole one in the last bits. */
const toWhole = 1.5 * 2 ** 23;
const bitsOfOne = 0x3f800000;
const mantissaBits = 23;

/**
 * Code that replaces vectors of numbers up to 0 by their exp, within 2 units of the last place, and exactly 0 where it is below what a
 * float can hold: 2^n times a polynomial in the rest, whose coefficients are the usual least-maximum fit of degree 5 behind 1 + r.
 */
export function exponentials(locals: Locals, constants: Constants, values: readonly number[]): Code {
  const c = (value: number) => constants.float(value);
  return join(
    ...values.map((value) => {
      const { whole, power, counts } = locals.named("vector", "whole", "power", "counts");
      const rest = get(value);
      const [first, ...others] = polynomial as [number, ...number[]];
      const sum = others.reduce<Code>((high, coefficient) => fused(high, rest, c(coefficient)), c(first));
      const scale = addIntegers(shiftIntegersLeft(get(whole), mantissaBits), constants.integer(bitsOfOne));
      return join(
        set(counts, isAbove(rest, c(-87))),
        set(value, maxVector(rest, c(-87))),
        set(whole, fused(rest, c(Math.LOG2E), c(toWhole))),
        set(power, subtractVector(get(whole), c(toWhole))),
        // ln 2 in two parts, so that the rest keeps all its digits
        set(value, fused(get(power), c(-0.693359375), rest)),
        set(value, fused(get(power), c(2.1219444e-4), rest)),
        set(value, andBits(multiplyVector(fused(sum, rest, c(1)), scale), get(counts))),
      );
    }),
  );
}
