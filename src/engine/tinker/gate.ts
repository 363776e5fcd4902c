/**
 * Work that may run together, and work that must run alone: what is alone waits for what runs, and what comes after it waits for it.
 * Without `isStrict` nothing waits for anything.
 */
export class Gate {
  readonly #isStrict: boolean;
  readonly #running = new Set<Promise<unknown>>();
  #alone: Promise<void> = Promise.resolve();
  /** Of what is alone, or waits to be. */
  #count = 0;

  constructor(isStrict: boolean) {
    this.#isStrict = isStrict;
  }

  async together<Value>(work: () => Promise<Value>): Promise<Value> {
    if (!this.#isStrict) return work();
    while (this.#count > 0) await this.#alone;
    const running = work();
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }

  async alone<Value>(work: () => Promise<Value>): Promise<Value> {
    if (!this.#isStrict) return work();
    const before = this.#alone;
    const done = Promise.withResolvers<void>();
    this.#alone = before.then(() => done.promise);
    this.#count++;
    await before;
    await Promise.allSettled(this.#running);
    try {
      return await work();
    } finally {
      this.#count--;
      done.resolve();
    }
  }
}
