/** Steps that a group decodes before others are chosen: its KV cache is read from memory in the first and from the processor's cache after. */
const stepsPerGroup = 32;
/**
 * Chooses the rows of each decode step. A step reads the KV cache of all its rows; if that of every active row exceeds the processor's
 * L2/L3 cache, each step reads all of it from memory. So rows are decoded in groups whose KV cache fits, least recently chosen first.
 */
export class DecodeGroups<Row extends object> {
  readonly #maxBytes: number;
  readonly #bytes: (row: Row) => number;
  /** When each row was last chosen, as a number that grows. */
  readonly #chosen = new WeakMap<Row, number>();
  #members = new Set<Row>();
  /** Whether some rows did not fit beside the members. */
  #isFull = false;
  #steps = 0;
  #choices = 0;

  /** `maxBytes` of a group, and the bytes of a row. */
  constructor(maxBytes: number, bytes: (row: Row) => number) {
    this.#maxBytes = maxBytes;
    this.#bytes = bytes;
  }

  /** The rows of the next step, out of all active ones. */
  next(rows: readonly Row[]): readonly Row[] {
    if (this.#steps++ % stepsPerGroup === 0) this.#members = new Set();
    const chosen = rows.filter((row) => this.#members.has(row));
    if (this.#isFull && chosen.length === this.#members.size && chosen.length > 0) return chosen;
    this.#members = new Set(chosen);
    this.#isFull = false;
    let bytes = chosen.reduce((sum, row) => sum + this.#bytes(row), 0);
    const others = rows.filter((row) => !this.#members.has(row));
    others.sort((a, b) => (this.#chosen.get(a) ?? 0) - (this.#chosen.get(b) ?? 0));
    for (const row of others) {
      bytes += this.#bytes(row);
      this.#isFull = bytes > this.#maxBytes && chosen.length > 0;
      if (this.#isFull) break;
      chosen.push(row);
      this.#members.add(row);
      this.#chosen.set(row, ++this.#choices);
    }
    return chosen;
  }
}
