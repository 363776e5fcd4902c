import { existsSync } from "node:fs";
import type { BoxMount } from "./folder-box.ts";

/** How long after one was taken the next is made, so that the first call of that box goes first; and how long they wait for anyone. */
const [refillMs, idleMs] = [20, 30_000];

/** Boxes without an image, started before anyone asks. None keeps this program alive, and all end with it. */
export class ReadyMounts {
  readonly #make: () => Promise<BoxMount>;
  readonly #count: number;
  readonly #waiting: BoxMount[] = [];
  #isMaking = false;
  #refill: NodeJS.Timeout | undefined;
  #idle: NodeJS.Timeout | undefined;

  /** Nothing is made before the first is taken. */
  constructor(make: () => Promise<BoxMount>, count: number) {
    this.#make = make;
    this.#count = count;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  async take(): Promise<BoxMount> {
    const taken = this.#waiting.shift();
    this.#schedule();
    if (taken === undefined) return await this.#make();
    if (existsSync(taken.files)) return taken;
    await taken.close(); // something has killed it
    return await this.take();
  }

  #schedule(): void {
    if (this.#count === 0) return;
    this.#refill ??= setTimeout(() => void this.#fill(), refillMs).unref();
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => void this.close(), idleMs).unref();
  }

  /** One at a time: whoever waits for a box of his own goes first. */
  async #fill(): Promise<void> {
    this.#refill = undefined;
    if (this.#isMaking) return;
    this.#isMaking = true;
    try {
      while (this.#waiting.length < this.#count) this.#waiting.push(await this.#make());
    } catch {
      // whoever opens the next box makes it himself, and is told why that fails
    } finally {
      this.#isMaking = false;
    }
  }

  /** Those that wait. */
  async close(): Promise<void> {
    clearTimeout(this.#refill);
    this.#refill = undefined;
    await Promise.all(this.#waiting.splice(0).map((mount) => mount.close()));
  }
}
