import { metric } from "../../schema/metric-names.ts";

/** Which share of the time between two batches the trainer waited, and which no rollout was under way. */
export class WaitClock {
  #since = performance.now();
  #trainerMs = 0;
  #samplerMs = 0;
  #idleSince: number | undefined = performance.now();

  async trainerWaits<Value>(wait: () => Promise<Value>): Promise<Value> {
    const started = performance.now();
    try {
      return await wait();
    } finally {
      this.#trainerMs += performance.now() - started;
    }
  }

  busy(): void {
    if (this.#idleSince !== undefined) this.#samplerMs += performance.now() - this.#idleSince;
    this.#idleSince = undefined;
  }

  idle(): void {
    this.#idleSince ??= performance.now();
  }

  /** Since they were asked for last. */
  metrics(): Record<string, number> {
    const now = performance.now();
    const isIdle = this.#idleSince !== undefined;
    this.busy();
    const total = Math.max(now - this.#since, Number.EPSILON);
    const shares = {
      [metric.trainerWaits]: Math.min(1, this.#trainerMs / total),
      [metric.samplerWaits]: Math.min(1, this.#samplerMs / total),
    };
    [this.#since, this.#trainerMs, this.#samplerMs] = [now, 0, 0];
    if (isIdle) this.#idleSince = now;
    return shares;
  }
}
