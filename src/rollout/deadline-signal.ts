import { onAbort } from "./on-abort.ts";

// setTimeout takes more for 1 ms
const maxTimerMs = 2 ** 31 - 1;

/** A signal that is aborted when another is, or when time is up; and which of the two it was. */
export class DeadlineSignal {
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout | undefined;
  readonly #forgetOuter: (() => void) | undefined;
  #isTimeUp = false;

  constructor(milliseconds: number, outer: AbortSignal | undefined) {
    if (outer?.aborted) {
      this.#controller.abort(outer.reason);
      return;
    }
    this.#forgetOuter = outer && onAbort(outer, () => this.#controller.abort(outer.reason));
    if (milliseconds <= maxTimerMs) this.#timer = setTimeout(() => this.#expire(milliseconds), milliseconds);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get isTimeUp(): boolean {
    return this.#isTimeUp;
  }

  /** Must be called when the wait is over: a timer and a listener are freed. */
  clear(): void {
    clearTimeout(this.#timer);
    this.#forgetOuter?.();
  }

  #expire(milliseconds: number): void {
    this.#isTimeUp = !this.signal.aborted;
    this.#controller.abort(new DOMException(`The rollout took longer than ${milliseconds} ms`, "TimeoutError"));
  }
}
