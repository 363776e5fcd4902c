/** A signal that is aborted when another is, or when time is up; and which of the two it was. */
export class DeadlineSignal {
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly #outer: AbortSignal | undefined;
  #isTimeUp = false;

  constructor(milliseconds: number, outer: AbortSignal | undefined) {
    this.#outer = outer;
    this.#timer = setTimeout(() => {
      this.#isTimeUp = true;
      this.#controller.abort();
    }, milliseconds);
    if (outer?.aborted) this.#controller.abort();
    else outer?.addEventListener("abort", this.#cancel);
  }

  readonly #cancel = () => this.#controller.abort();

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get isTimeUp(): boolean {
    return this.#isTimeUp;
  }

  /** Must be called when the wait is over: a timer and a listener are freed. */
  clear(): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener("abort", this.#cancel);
  }
}
