/** How many tokens two rows begin with that are the same, up to a limit. */
export function commonPrefix(a: ArrayLike<number>, b: ArrayLike<number>, limit = Number.POSITIVE_INFINITY): number {
  const end = Math.min(a.length, b.length, limit);
  let length = 0;
  while (length < end && a[length] === b[length]) length++;
  return length;
}
