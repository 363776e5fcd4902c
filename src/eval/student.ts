/**
 * The quantile of Student's t: what a value with so many degrees of freedom is below with probability `p`.
 *
 *     studentQuantile(0.975, 9);        // 2.2622
 */
export function studentQuantile(p: number, degrees: number): number {
  if (p < 0.5) return -studentQuantile(1 - p, degrees);
  if (p === 0.5) return 0;
  // of the symmetric distribution both tails together are I_x(degrees / 2, 1 / 2), x = degrees / (degrees + t²)
  const tails = 2 * (1 - p);
  let [low, high] = [0, 1];
  // 1 - x is what is looked for: near 0 it keeps digits that x near 1 does not have
  for (let i = 0; i < 200 && high > low; i++) {
    const middle = low + (high - low) / 2;
    if (middle === low || middle === high) break;
    if (upperBeta(degrees / 2, 0.5, middle) > tails) low = middle;
    else high = middle;
  }
  return Math.sqrt((degrees * low) / (1 - low));
}

/** How likely a value with so many degrees of freedom is to be above `t`. */
export function studentTail(t: number, degrees: number): number {
  const above = regularizedBeta(degrees / 2, 0.5, degrees / (degrees + t * t)) / 2;
  return t >= 0 ? above : 1 - above;
}

/** 1 - I_y(1/2, a), which is I_(1-y)(a, b) for b = 1/2. */
function upperBeta(a: number, b: number, y: number): number {
  return 1 - regularizedBeta(b, a, y);
}

/** I_x(a, b), the regularized incomplete beta function. */
function regularizedBeta(a: number, b: number, x: number): number {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x));
  // the fraction converges fast below the mean, and I_x(a, b) = 1 - I_(1-x)(b, a) above
  return x < (a + 1) / (a + b + 2) ? (front * betaFraction(a, b, x)) / a : 1 - (front * betaFraction(b, a, 1 - x)) / b;
}

/** The continued fraction of the incomplete beta function, by Lentz's method. */
function betaFraction(a: number, b: number, x: number): number {
  let [numerator, denominator] = [1, 1 / (1 - ((a + b) * x) / (a + 1))];
  let fraction = denominator;
  for (let m = 1; m <= 10_000; m++) {
    const before = fraction;
    for (const term of [
      (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m)),
      (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1)),
    ]) {
      denominator = 1 / (1 + term * denominator);
      numerator = 1 + term / numerator;
      fraction *= numerator * denominator;
    }
    if (Math.abs(fraction - before) <= Number.EPSILON * Math.abs(fraction)) break;
  }
  return fraction;
}

/** log Γ(x) for x > 0: Stirling's series, after moving x to where six of its terms are exact enough. */
function logGamma(x: number): number {
  let shift = 0;
  let z = x;
  while (z < 12) shift -= Math.log(z++);
  const r = 1 / (z * z);
  const series = (1 / 12 - r * (1 / 360 - r * (1 / 1260 - r * (1 / 1680 - r * (1 / 1188 - (r * 691) / 360360))))) / z;
  return shift + (z - 0.5) * Math.log(z) - z + 0.5 * Math.log(2 * Math.PI) + series;
}
