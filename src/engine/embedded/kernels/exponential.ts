import {
  addIntegers,
  addVector,
  andBits,
  type Code,
  fused,
  get,
  isAbove,
  join,
  type Locals,
  maxVector,
  multiplyVector,
  nearest,
  set,
  shiftIntegersLeft,
  splat,
  splatInteger,
  toIntegers,
} from "./wasm-code.ts";

/**
 * Replaces a vector of numbers up to 0 by their exp, within 2 units of the last place, and exactly 0 where it is below what a float
 * can hold: 2^n times a polynomial in the rest, whose coefficients are the usual least-maximum fit of degree 5 behind 1 + r.
 */
export function exponential(locals: Locals): (value: number) => Code {
  const { power, counts } = locals.named("vector", "power", "counts");
  const polynomial = [1.9875691e-4, 1.3981999e-3, 8.333452e-3, 4.1665796e-2, 1.6666666e-1, 5e-1];
  return (value) => {
    const [rest, least] = [get(value), splat(-87)];
    const high = polynomial
      .slice(1)
      .reduce<Code>((sum, coefficient) => fused(sum, rest, splat(coefficient)), splat(polynomial[0]!));
    const scale = shiftIntegersLeft(addIntegers(toIntegers(get(power)), splatInteger(127)), 23);
    return join(
      set(counts, isAbove(rest, least)),
      set(value, maxVector(rest, least)),
      set(power, nearest(multiplyVector(rest, splat(Math.LOG2E)))),
      // ln 2 in two parts, so that the rest keeps all its digits
      set(value, fused(get(power), splat(-0.693359375), rest)),
      set(value, fused(get(power), splat(2.1219444e-4), rest)),
      set(value, multiplyVector(addVector(fused(multiplyVector(rest, rest), high, rest), splat(1)), scale)),
      set(value, andBits(rest, get(counts))),
    );
  };
}
