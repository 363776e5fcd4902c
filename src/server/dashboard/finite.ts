/** JSON has no NaN and no infinity. */
export function finite(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}
