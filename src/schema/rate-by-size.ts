/**
 * The learning rate that suits a model whose weights all learn: 2.9e-4 for 0.3M parameters, 3.2e-5 for 25M, 7e-6 for 0.5B, 2e-6 for 7B.
 * Fitted to measurements from 0.3M to 103M (`docs/explain/what-learns.md`).
 */
export function rateBySize(parameters: number): number {
  return 0.16 / Math.sqrt(Math.max(1, parameters));
}
