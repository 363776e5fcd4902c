import type { Screen } from "./command.ts";

const quietMs = 10_000;

/** News of long work: one line drawn over itself on a terminal, a plain line now and then elsewhere. */
export class LiveLine {
  readonly #screen: Screen;
  readonly #now: () => number;
  #lastLine: number;
  #isDrawn = false;

  constructor(screen: Screen, now: () => number = () => performance.now()) {
    this.#screen = screen;
    this.#now = now;
    this.#lastLine = now();
  }

  show(text: string): void {
    if (this.#screen.isTTY === true) {
      this.#isDrawn = true;
      this.#screen.write(`\r\u001b[K${text}`);
    } else if (this.#now() - this.#lastLine >= quietMs) {
      this.#lastLine = this.#now();
      this.#screen.write(`${text}\n`);
    }
  }

  end(): void {
    if (this.#isDrawn) this.#screen.write("\r\u001b[K");
    this.#isDrawn = false;
  }
}
