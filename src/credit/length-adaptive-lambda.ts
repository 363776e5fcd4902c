/**
 * VAPO: `1 - 1 / (alpha * length)`, so that credit reaches further back in longer answers. At or below `1 / alpha` tokens the
 * formula is 0 or less, and 0 is taken: raise `alpha` for short answers.
 *
 *     gae({ lambda: lengthAdaptiveLambda(0.05), criticLambda: 1 });
 */
export function lengthAdaptiveLambda(alpha: number): (sampledTokens: number) => number {
  return (sampledTokens) => (sampledTokens === 0 ? 0 : Math.max(0, 1 - 1 / (alpha * sampledTokens)));
}
