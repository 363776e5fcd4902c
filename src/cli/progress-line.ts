import type { Screen } from "./command.ts";
import { LiveLine } from "./live-line.ts";

/** How far counted work is. */
export class ProgressLine {
  readonly #line: LiveLine;
  readonly #what: string;
  readonly #total: number;
  #done = 0;

  constructor(screen: Screen, what: string, total: number, now?: () => number) {
    this.#line = new LiveLine(screen, now);
    this.#what = what;
    this.#total = total;
  }

  add(): void {
    this.#done++;
    this.#line.show(`${this.#done} of ${this.#total} ${this.#what}`);
  }

  end(): void {
    this.#line.end();
  }
}
