/** Steps that a cohort goes on together: what it reads first from memory is then in the cache for the rest of them. */
const steps = 32;
/** Rows that go on together at least, however long they are: the weights are read for each step. */
const fewestRows = 2;

/**
 * Which rows go on. A step reads the keys and values of all its rows; if those of all rows together are more than the processor's cache
 * holds, every step reads all of it from memory. Part of the rows at a time stays in the cache, and takes turns with the others.
 */
export class Cohort<Row extends object> {
  readonly #most: number;
  readonly #bytes: (row: Row) => number;
  /** When each was last chosen, as a number that grows. */
  readonly #chosen = new WeakMap<Row, number>();
  #members = new Set<Row>();
  #steps = 0;
  #turns = 0;

  /** The bytes that are to stay in the cache, and those of a row. */
  constructor(most: number, bytes: (row: Row) => number) {
    this.#most = most;
    this.#bytes = bytes;
  }

  /** The rows of the next step, out of all that want to go on. */
  next(rows: readonly Row[]): readonly Row[] {
    if (this.#steps++ % steps === 0) this.#members = new Set();
    const chosen = rows.filter((row) => this.#members.has(row));
    let bytes = chosen.reduce((sum, row) => sum + this.#bytes(row), 0);
    const others = rows.filter((row) => !this.#members.has(row));
    others.sort((a, b) => (this.#chosen.get(a) ?? 0) - (this.#chosen.get(b) ?? 0));
    for (const row of others) {
      bytes += this.#bytes(row);
      if (bytes > this.#most && chosen.length >= fewestRows) break;
      chosen.push(row);
      this.#members.add(row);
      this.#chosen.set(row, ++this.#turns);
    }
    return chosen;
  }
}
