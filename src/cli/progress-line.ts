import type { Screen } from "./command.ts";

const quietMs = 10_000;

/** How far counted work is: one line drawn over itself on a terminal, a plain line now and then elsewhere. */
export class ProgressLine {
  readonly #screen: Screen;
  readonly #what: string;
  readonly #total: number;
  readonly #now: () => number;
  #done = 0;
  #lastLine: number;

  constructor(screen: Screen, what: string, total: number, now: () => number = () => performance.now()) {
    this.#screen = screen;
    this.#what = what;
    this.#total = total;
    this.#now = now;
    this.#lastLine = now();
  }

  add(): void {
    this.#done++;
    const text = `${this.#done} of ${this.#total} ${this.#what}`;
    if (this.#screen.isTTY === true) this.#screen.write(`\r\u001b[K${text}`);
    else if (this.#now() - this.#lastLine >= quietMs) {
      this.#lastLine = this.#now();
      this.#screen.write(`${text}\n`);
    }
  }

  end(): void {
    if (this.#screen.isTTY === true && this.#done > 0) this.#screen.write("\r\u001b[K");
  }
}
